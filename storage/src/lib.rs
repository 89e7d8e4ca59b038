//! Where wakashu archives live: a folder or an S3 bucket.
