//! End-to-end tests and benchmarks of wakashu.
