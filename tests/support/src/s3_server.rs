//! Two foreign S3 servers. Each covers the other's gap: s3s checks signatures and checksums but ignores conditional
//! reads, moto honours all conditions but accepts any signature.

use std::io::{self, BufRead as _, Read as _, Seek as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream as StdStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use hyper_util::rt::TokioIo;
use s3s::{S3, S3Request, S3Response, S3Result, dto};
use tokio::net::TcpListener;

/// The access key both servers take.
pub const ACCESS_KEY_ID: &str = "wakashu-test";

/// The secret that belongs to it.
pub const SECRET_ACCESS_KEY: &str = "a-secret-for-tests-only";

/// Starts s3s on the runtime of the caller, with one empty bucket. Its objects are files below `root`.
pub async fn start_s3s(root: &Path, bucket: &str) -> io::Result<SocketAddr> {
    std::fs::create_dir_all(root.join(bucket))?;
    let files = s3s_fs::FileSystem::new(root).map_err(|error| io::Error::other(format!("{error:?}")))?;
    let files = Corrected { files, root: root.to_owned() };
    let mut builder = s3s::service::S3ServiceBuilder::new(files);
    builder.set_auth(s3s::auth::SimpleAuth::from_single(ACCESS_KEY_ID, SECRET_ACCESS_KEY));
    let service = builder.build();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let _ = stream.set_nodelay(true);
            let service = service.clone();
            tokio::spawn(async move {
                let io = TokioIo::new(stream);
                // An error is a client that went away.
                let _ = hyper::server::conn::http1::Builder::new().serve_connection(io, service).await;
            });
        }
    });
    Ok(address)
}

/// s3s-fs 0.14.1 as it should be: it fails on a suffix range longer than the object, where S3 sends the whole object,
/// and on any suffix of an empty object, where S3 says that there is no such range. It also reads slowly.
struct Corrected {
    files: s3s_fs::FileSystem,
    root: PathBuf,
}

/// Methods passed on as they are.
macro_rules! passed_on {
    ($($method:ident: $input:ident -> $output:ident),* $(,)?) => {
        #[async_trait::async_trait]
        impl S3 for Corrected {
            $(
                async fn $method(&self, request: S3Request<dto::$input>) -> S3Result<S3Response<dto::$output>> {
                    self.files.$method(request).await
                }
            )*

            async fn get_object(
                &self,
                mut request: S3Request<dto::GetObjectInput>,
            ) -> S3Result<S3Response<dto::GetObjectOutput>> {
                let path = self.root.join(&request.input.bucket).join(&request.input.key);
                if let Some(dto::Range::Suffix { length }) = &mut request.input.range
                    && let Ok(found) = std::fs::metadata(&path)
                {
                    if found.len() == 0 {
                        return Err(s3s::s3_error!(InvalidRange));
                    }
                    *length = found.len().min(*length);
                }
                let mut answer = self.files.get_object(request).await?;
                if let Some(bytes) = read_part(&path, &answer.output) {
                    answer.output.body = Some(dto::StreamingBlob::from(s3s::Body::from(bytes)));
                }
                Ok(answer)
            }
        }
    };
}

/// Reads what an answer is about in one go: s3s-fs sends a file in steps of 4 KiB, which takes longer than S3 over a network.
fn read_part(path: &Path, answer: &dto::GetObjectOutput) -> Option<Vec<u8>> {
    let length = usize::try_from(answer.content_length?).ok()?;
    // `bytes 0-99/1234`, or nothing for the whole object.
    let range = answer.content_range.as_deref();
    let offset =
        range.map_or(Some(0), |range| range.strip_prefix("bytes ")?.split('-').next()?.parse().ok())?;
    let mut file = std::fs::File::open(path).ok()?;
    file.seek(io::SeekFrom::Start(offset)).ok()?;
    let mut bytes = vec![0; length];
    file.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

passed_on!(
    abort_multipart_upload: AbortMultipartUploadInput -> AbortMultipartUploadOutput,
    complete_multipart_upload: CompleteMultipartUploadInput -> CompleteMultipartUploadOutput,
    create_multipart_upload: CreateMultipartUploadInput -> CreateMultipartUploadOutput,
    delete_object: DeleteObjectInput -> DeleteObjectOutput,
    head_object: HeadObjectInput -> HeadObjectOutput,
    list_objects_v2: ListObjectsV2Input -> ListObjectsV2Output,
    put_object: PutObjectInput -> PutObjectOutput,
    upload_part: UploadPartInput -> UploadPartOutput,
);

/// Returns the process's one moto server and a new, empty bucket in it. Installs and starts it the first time.
pub fn moto() -> io::Result<(SocketAddr, String)> {
    static MOTO: OnceLock<Result<(SocketAddr, Child), String>> = OnceLock::new();
    static BUCKETS: AtomicU32 = AtomicU32::new(0);
    let started = MOTO.get_or_init(|| start_moto().map_err(|error| error.to_string()));
    let (address, _) = started.as_ref().map_err(|error| io::Error::other(error.clone()))?;
    let bucket = format!("bucket-{}", BUCKETS.fetch_add(1, Ordering::Relaxed));
    create_bucket(*address, &bucket)?;
    Ok((*address, bucket))
}

fn start_moto() -> io::Result<(SocketAddr, Child)> {
    let root = crate::repository();
    let installed = Command::new(root.join(".ci/tools")).status()?;
    if !installed.success() {
        return Err(io::Error::other("`.ci/tools` could not install moto; run it by hand to see why"));
    }
    // The shell ends the server when its input closes, which happens when this process ends, however it ends.
    let script = "\"$0\" -H 127.0.0.1 -p 0 & server=$!; cat; kill \"$server\"";
    let program = root.join(".tools/venv/bin/moto_server");
    let mut child = Command::new("sh")
        .args(["-c", script])
        .arg(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut said = io::BufReader::new(child.stderr.take().ok_or(io::ErrorKind::BrokenPipe)?);
    let mut line = String::new();
    let address = loop {
        line.clear();
        if said.read_line(&mut line)? == 0 {
            return Err(io::Error::other("moto ended without listening"));
        }
        if let Some((_, address)) = line.trim().split_once("Running on http://") {
            break address.parse().map_err(io::Error::other)?;
        }
    };
    // What it says of every request must not fill the pipe.
    std::thread::spawn(move || io::copy(&mut said, &mut io::sink()));
    Ok((address, child))
}

/// Creates a bucket by a plain request: moto asks for no signature.
fn create_bucket(address: SocketAddr, bucket: &str) -> io::Result<()> {
    let mut stream = StdStream::connect(address)?;
    write!(
        stream,
        "PUT /{bucket} HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    )?;
    let answer = io::read_to_string(stream)?;
    if answer.starts_with("HTTP/1.1 200") { Ok(()) } else { Err(io::Error::other(answer)) }
}
