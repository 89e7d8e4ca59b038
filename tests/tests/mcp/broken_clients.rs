//! Clients that stop half-way: the server answers who still listens, and loses nothing over those who do not.

use std::time::{Duration, Instant};

use serde_json::json;
use wakashu_tests::{
    CallGate, Connection, HttpRequest, Pictures, Server, call, legacy, legacy_body, modern, poem,
};

use super::fixture;

fn ping() -> HttpRequest {
    legacy("ping", &json!({}))
}

/// Counts what the server's process has open.
fn open_files(server: &Server) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", server.id())).unwrap().count()
}

/// Waits until the server has let go of all connections but `most`.
fn wait_for_files(server: &Server, most: usize) {
    let started = Instant::now();
    while open_files(server) > most {
        assert!(started.elapsed() < Duration::from_secs(20), "{} files stay open", open_files(server));
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn who_says_that_it_will_send_no_more_gets_its_answer() {
    let (server, _collection) = fixture::serve();
    let picture = HttpRequest::new("GET", "/pictures/1/1");
    for request in [ping(), call("get_poem", &json!({ "round_title": "1", "rank": 1 })), picture] {
        let mut connection = server.connect();
        connection.send(&request.bytes()).unwrap();
        connection.finish_sending();
        assert_eq!(connection.receive_for(&request.method).expect("an answer").status, 200, "{request:?}");
        assert!(connection.is_closed(), "nothing more can come");
    }
    // Also who sent several at once, and who has to wait for the answer.
    let mut connection = server.connect();
    connection.send(&ping().bytes().repeat(3)).unwrap();
    connection.finish_sending();
    assert!((0..3).all(|_| connection.receive().is_some_and(|reply| reply.status == 200)));
    let gate = CallGate::default();
    let gated =
        Server::serve_with(Some(&fixture::collection().write()), &[("WAKASHU_DRILL", &gate.setting())]);
    let mut connection = gated.connect();
    connection.send(&call("index_status", &json!({})).bytes()).unwrap();
    connection.finish_sending();
    drop(gate.next());
    assert_eq!(connection.receive().expect("an answer when there is one").status, 200);
}

#[test]
fn half_a_request_that_ends_is_refused_and_forgotten() {
    let (server, _collection) = fixture::serve();
    assert_eq!(server.send(&ping()).status, 200);
    let before = open_files(&server);
    let whole = ping().bytes();
    for length in 1..whole.len() {
        let mut connection = server.connect();
        connection.send(&whole[..length]).unwrap();
        connection.finish_sending();
        // A body cut short is said to be; a head cut short is nobody's request.
        if let Some(reply) = connection.receive() {
            assert_eq!(reply.status, 400, "after {length} bytes");
        }
    }
    wait_for_files(&server, before);
    assert_eq!(server.send(&ping()).status, 200);
}

#[test]
fn who_hangs_up_in_the_middle_of_an_answer_leaves_nothing_behind() {
    let monster = Some(Pictures { small: 1_000, medium: 2_000, large: 600_000 });
    let collection = fixture::collection().round("絵巻").entry(poem(1, monster));
    let server = Server::serve(&collection.write());
    let answer = call("get_poem", &json!({ "round_title": "絵巻", "rank": 1 }));
    let picture = HttpRequest::new("GET", "/pictures/%E7%B5%B5%E5%B7%BB/1");
    assert_eq!(server.send(&picture).body.len(), 600_000);
    let before = open_files(&server);
    for request in [answer, picture] {
        for _ in 0..100 {
            let mut connection = server.connect();
            // More than the sockets hold, so that the server still has some of it to send.
            connection.send(&request.bytes().repeat(20)).unwrap();
            let head = connection.receive_head().expect("the head of an answer");
            assert_eq!(head.status, 200);
            drop(connection);
        }
    }
    wait_for_files(&server, before);
    assert_eq!(server.send(&ping()).status, 200);
    assert!(!server.log_with("\"method\":\"ping\"").contains("panicked"));
}

#[test]
fn old_clients_are_served_with_and_without_keeping_the_connection() {
    let (server, _collection) = fixture::serve();
    let body = legacy_body("ping", &json!({})).to_string();
    let old = |more: &str| {
        format!(
            "POST /mcp HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\n{more}Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let mut connection = server.connect();
    connection.send(old("").as_bytes()).unwrap();
    assert_eq!(connection.receive().unwrap().status, 200);
    assert!(connection.is_closed());
    let mut connection = server.connect();
    for _ in 0..3 {
        connection.send(old("Connection: keep-alive\r\n").as_bytes()).unwrap();
        assert_eq!(connection.receive().unwrap().status, 200);
    }
    // It has no chunks: what comes in a stream ends with the connection.
    let mut connection = server.connect();
    connection.send(b"GET /pictures/1/1 HTTP/1.0\r\nHost: localhost\r\n\r\n").unwrap();
    let picture = connection.receive_for("GET").unwrap();
    assert_eq!((picture.status, picture.body.len()), (200, 900));
    assert!(picture.header("transfer-encoding").is_none());
}

#[test]
fn the_head_of_a_request_is_bounded_to_the_byte_and_to_the_header() {
    let (server, _collection) = fixture::serve();
    // Beside these there are Host and Content-Length.
    for (headers, status) in [(97, 200), (98, 200), (99, 431)] {
        let request = (0..headers)
            .fold(HttpRequest::new("GET", "/"), |request, at| request.header(&format!("X-{at}"), "y"));
        let mut connection = server.connect();
        connection.send(&request.bytes()).unwrap();
        assert_eq!(
            connection.receive_for("GET").expect("an answer").status,
            status,
            "{headers} and two headers"
        );
    }
    let limit = wakashu_function::MAX_HEAD_BYTES;
    for (length, status) in [(limit - 1, 200), (limit, 431), (limit + 1, 431)] {
        let opening = "GET / HTTP/1.1\r\nHost: localhost\r\nX: ";
        let mut connection = server.connect();
        connection.send([opening, &"x".repeat(length - opening.len())].concat().as_bytes()).unwrap();
        // What is too long is refused without an end.
        if status == 200 {
            connection.send(b"\r\n\r\n").unwrap();
        }
        let answered = connection.receive_for("GET").expect("an answer").status;
        assert_eq!(answered, status, "{length} bytes without an end");
    }
    assert_eq!(server.send(&ping()).status, 200);
}

/// One address once took the places of all listeners, for as long as it liked.
#[test]
fn no_address_takes_the_places_of_all_listeners() {
    let (server, _collection) = fixture::serve();
    let wish = json!({ "notifications": { "resourcesListChanged": true } });
    let mut listeners: Vec<Connection> = Vec::new();
    let mut statuses = Vec::new();
    for _ in 0..=wakashu_function::MAX_STREAMS / 4 * 3 {
        let mut connection = server.connect();
        connection.send(&modern("subscriptions/listen", &wish).bytes()).unwrap();
        statuses.push(connection.receive_head().expect("an answer").status);
        listeners.push(connection);
    }
    assert_eq!(
        statuses.iter().position(|status| *status == 429),
        Some(wakashu_function::MAX_STREAMS / 4 * 3)
    );
}

#[test]
fn listeners_have_their_own_limit_and_leave_room_for_the_others() {
    let collection = fixture::collection();
    let path = collection.write();
    // One address may have all of them here.
    let settings = [("WAKASHU_REFRESH_SECONDS", "1"), ("WAKASHU_CONNECTIONS_PER_CLIENT", "1024")];
    let server = Server::serve_with(Some(&path), &settings);
    let listen = || -> (u16, Connection) {
        let mut connection = server.connect();
        let wish = json!({ "notifications": { "resourcesListChanged": true } });
        connection.send(&modern("subscriptions/listen", &wish).bytes()).unwrap();
        (connection.receive_head().expect("an answer").status, connection)
    };
    let mut listeners: Vec<Connection> = Vec::new();
    for at in 1..=wakashu_function::MAX_STREAMS {
        let (status, connection) = listen();
        assert_eq!(status, 200, "listener {at}");
        listeners.push(connection);
    }
    let mut connection = server.connect();
    let wish = json!({ "notifications": { "resourcesListChanged": true } });
    connection.send(&modern("subscriptions/listen", &wish).bytes()).unwrap();
    let refused = connection.receive().expect("an answer");
    assert_eq!((refused.status, refused.code(), refused.header("retry-after")), (429, -32603, Some("60")));
    assert_eq!(refused.json()["id"], 1);
    assert_eq!(server.send(&ping()).status, 200, "everyone else is served");

    // Who has hung up is noticed when there is something to tell it, the second time at the latest.
    drop(listeners.split_off(100));
    let started = Instant::now();
    let mut archives = (1..).map(|number| fixture::collection().title(&format!("第{number}版")));
    while listen().0 != 200 {
        assert!(started.elapsed() < Duration::from_secs(20), "the places of those who left stay taken");
        let next = path.with_extension("next");
        std::fs::copy(archives.next().unwrap().write(), &next).unwrap();
        std::fs::rename(next, &path).unwrap();
        std::thread::sleep(Duration::from_millis(1_100));
    }
}
