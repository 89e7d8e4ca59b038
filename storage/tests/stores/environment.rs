//! Where settings and credentials come from. The environment of a process cannot be changed safely from within, so
//! each case runs in a process of its own.

#![cfg(feature = "chain")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "tests fail loudly, one prints")]

use std::path::Path;
use std::process::Command;

use crate::support::{BUCKET, s3_server};
use wakashu_storage::Location;

/// Lists the store and prints how that went, for the tests below.
#[tokio::test]
#[ignore = "the process whose environment is tested"]
async fn process_with_its_own_environment() {
    let Ok(store) = std::env::var("WAKASHU_TEST_STORE") else { return };
    let listed = async {
        let storage = store.parse::<Location>().unwrap().open_for_writing().await?;
        storage.list("").await
    };
    let said = match listed.await {
        Ok(_) => "listed".to_owned(),
        Err(error) => format!("{error}; {}", error.hint().unwrap_or("no hint")),
    };
    println!("\nSAID {said}");
}

/// Runs the process above with nothing in its environment but `variables`, and returns what it said.
fn run(home: &Path, variables: &[(&str, &str)]) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "environment::process_with_its_own_environment", "--nocapture"])
        .env_clear()
        .env("HOME", home)
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .env("WAKASHU_TEST_STORE", format!("s3://{BUCKET}"))
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let output = String::from_utf8(output.stdout).unwrap();
    let said = output.lines().find_map(|line| line.strip_prefix("SAID "));
    said.unwrap_or_else(|| panic!("{output}")).to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_and_credentials_are_found_as_the_aws_tools_find_them() {
    let files = tempfile::tempdir().unwrap();
    let home = files.path().join("home");
    std::fs::create_dir_all(home.join(".aws/sso/cache")).unwrap();
    let address = s3_server::start_s3s(&files.path().join("s3"), BUCKET).await.unwrap();
    let endpoint = crate::support::endpoint(address);
    let keys = [
        ("AWS_ACCESS_KEY_ID", s3_server::ACCESS_KEY_ID),
        ("AWS_SECRET_ACCESS_KEY", s3_server::SECRET_ACCESS_KEY),
    ];
    let region = ("AWS_REGION", "eu-central-1");
    let at = |name| (name, endpoint.as_str());
    let in_lambda = ("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:9001");

    // From the environment; a custom endpoint needs no region.
    assert_eq!(run(&home, &[keys[0], keys[1], region, at("AWS_ENDPOINT_URL")]), "listed");
    assert_eq!(run(&home, &[keys[0], keys[1], at("AWS_ENDPOINT_URL_S3")]), "listed");
    let nearer = [keys[0], keys[1], at("AWS_ENDPOINT_URL_S3"), ("AWS_ENDPOINT_URL", "http://127.0.0.1:1")];
    assert_eq!(run(&home, &nearer), "listed");

    // In Lambda from the environment alone.
    assert_eq!(run(&home, &[keys[0], keys[1], region, at("AWS_ENDPOINT_URL"), in_lambda]), "listed");
    let said = run(&home, &[region, at("AWS_ENDPOINT_URL"), in_lambda]);
    assert!(said.starts_with("no AWS credentials were found; set AWS_PROFILE"), "{said}");

    // Nowhere to be found.
    let said = run(&home, &[region, at("AWS_ENDPOINT_URL")]);
    assert!(said.starts_with("no AWS credentials were found; set AWS_PROFILE"), "{said}");
    let said = run(&home, &[keys[0], keys[1]]);
    assert!(said.starts_with("no AWS region is set"), "{said}");
    let said = run(&home, &[keys[0], keys[1], region, ("WAKASHU_S3_PATH_STYLE", "maybe")]);
    assert!(said.starts_with("WAKASHU_S3_PATH_STYLE must be"), "{said}");

    // From a profile.
    let profile = format!(
        "[kept]\naws_access_key_id = {}\naws_secret_access_key = {}\n",
        s3_server::ACCESS_KEY_ID,
        s3_server::SECRET_ACCESS_KEY
    );
    std::fs::write(home.join(".aws/credentials"), profile).unwrap();
    assert_eq!(run(&home, &[region, at("AWS_ENDPOINT_URL"), ("AWS_PROFILE", "kept")]), "listed");

    // Signed on once, too long ago. The file is named by the SHA-1 of the session's name.
    let signed_on = "[profile sso]\nsso_session = s\nsso_account_id = 123456789012\nsso_role_name = r\n\
        [sso-session s]\nsso_start_url = https://example.invalid/start\nsso_region = eu-central-1\n";
    std::fs::write(home.join(".aws/config"), signed_on).unwrap();
    let token = r#"{"accessToken":"t","expiresAt":"2020-01-01T00:00:00Z","startUrl":"https://example.invalid/start"}"#;
    let name = "a0f1490a20d0211c997b44bc357e1972deab8ae3.json";
    std::fs::write(home.join(".aws/sso/cache").join(name), token).unwrap();
    let said = run(&home, &[region, at("AWS_ENDPOINT_URL"), ("AWS_PROFILE", "sso")]);
    assert!(said.starts_with("the AWS credentials have expired; sign in again"), "{said}");
}
