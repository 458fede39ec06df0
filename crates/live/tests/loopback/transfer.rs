//! Files shared and fetched over the loopback, from one and from several sources.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anabranch_core::Rate;
use anabranch_live::conditions::Conditions;
use anabranch_live::control::{Ceiling, named};
use anabranch_live::fetch::{FetchError, FetchRequest, Fetched, Progress, SourceStanding, Wanted, fetch};
use anabranch_live::security::Identity;
use anabranch_live::session::{Client, Server, Session};
use anabranch_live::share::{Files, Served, Share, serve_all};
use anabranch_live::url::Url;
use anabranch_transfer::message::{decode, encode};
use anabranch_transfer::{Answer, Digests, Refusal, Request, Root};
use tempfile::TempDir;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::watch;
use tokio::task::JoinHandle;

const MB: usize = 1_000_000;

/// Bytes without a period.
fn content(size: usize) -> Vec<u8> {
    (0..size).map(|at| (at ^ (at >> 8) ^ (at >> 16).wrapping_mul(77)) as u8).collect()
}

/// A directory with one file `x`.
fn directory(content: &[u8]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("x"), content).unwrap();
    directory
}

/// A server on a free port of the loopback.
async fn bound() -> (Server, Url) {
    let identity = Identity::made().unwrap();
    let address: SocketAddr = ([127, 0, 0, 1], 0).into();
    let server = Server::bind(&[address.into()], &identity).await.unwrap();
    let port = server.address().port();
    let pins = vec![identity.fingerprint()];
    let url = Url { host: "127.0.0.1".into(), port, path: "x".into(), pins, hash: None };
    (server, url)
}

/// A sharer of a directory; it ends when its task is aborted.
async fn sharer(directory: &Path) -> (JoinHandle<()>, Url) {
    let (sharer, url, _) = sharer_that_tells(directory).await;
    (sharer, url)
}

/// The same with what it tells of connections that have ended.
async fn sharer_that_tells(directory: &Path) -> (JoinHandle<()>, Url, UnboundedReceiver<Served>) {
    sharer_with(directory, Rate(f64::INFINITY)).await
}

/// A sharer of a directory that sends no more than `most`, with what it tells of connections that have ended.
async fn sharer_with(directory: &Path, most: Rate) -> (JoinHandle<()>, Url, UnboundedReceiver<Served>) {
    let (server, url) = bound().await;
    let share = Arc::new(Share::new(Files::open(directory).unwrap(), watch::channel(most).1));
    let (tell, told) = unbounded_channel();
    let sharer = tokio::spawn(serve_all(server, share, move |served| drop(tell.send(served))));
    (sharer, url, told)
}

/// Whether the next connection that ends is of one who has a file whole.
async fn has_file(told: &mut UnboundedReceiver<Served>) -> bool {
    tokio::time::timeout(Duration::from_secs(20), told.recv()).await.expect("it ends in time").unwrap().has_file
}

fn request(urls: &[&Url], target: &Path) -> FetchRequest {
    let wanted = |url: &&Url| Wanted {
        url: (*url).clone(),
        name: url.path.parse().unwrap(),
        conditions: Conditions::default().lasting(),
    };
    FetchRequest {
        sources: urls.iter().map(wanted).collect(),
        mirrors: Vec::new(),
        authorities: None,
        via: vec!["127.0.0.1".into(), "127.0.0.2".into()],
        protocol: named("lia").unwrap(),
        target: target.into(),
        hashes: Vec::new(),
        size: None,
        pieces: None,
        patience: Duration::from_secs(3),
        qlog: None,
    }
}

fn progress(request: &FetchRequest) -> Arc<Progress> {
    Arc::new(Progress::new(request.sources.iter().map(|source| source.url.to_string()), []))
}

async fn fetched(request: FetchRequest) -> Result<Fetched, FetchError> {
    let progress = progress(&request);
    tokio::time::timeout(Duration::from_secs(20), fetch(request, progress)).await.expect("it ends in time")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_sources_bring_a_file_together() {
    let content = content(100 * MB);
    let (from, to) = (directory(&content), tempfile::tempdir().unwrap());
    let (_first, one, mut told_one) = sharer_that_tells(from.path()).await;
    let (_second, two, mut told_two) = sharer_that_tells(from.path()).await;
    let target = to.path().join("y");
    let fetched = fetched(request(&[&one, &two], &target)).await.unwrap();
    assert_eq!(std::fs::read(&target).unwrap(), content);
    let root = Digests::of(content.len() as u64, &content[..]).unwrap().root();
    assert_eq!(fetched.hashes, [root.into()]);
    assert_eq!(fetched.brought.iter().sum::<u64>(), content.len() as u64);
    assert!(fetched.brought.iter().all(|&bytes| bytes > MB as u64), "{:?}", fetched.brought);
    assert!(has_file(&mut told_one).await && has_file(&mut told_two).await, "both hear of it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fetchers_share_what_a_sharer_may_send() {
    let content = content(4 * MB);
    let (from, to) = (directory(&content), tempfile::tempdir().unwrap());
    let (_sharer, url, _) = sharer_with(from.path(), Rate(32e6)).await;
    let start = Instant::now();
    // The sharer sends 8 MB to two fetchers, at 32 Mbit/s with headers.
    let fetch = async |name: &str| {
        fetched(request(&[&url], &to.path().join(name))).await.unwrap();
        start.elapsed().as_secs_f64()
    };
    let (one, two) = tokio::join!(fetch("one"), fetch("two"));
    let (first, last) = (one.min(two), one.max(two));
    // A busy machine may take longer. Without shares the first would have all of its file in a second.
    assert!(first > 1.4 && last > 1.8, "{first} s, {last} s");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sharer_sends_no_more_than_its_fetcher_wants() {
    let content = content(4 * MB);
    let (from, to) = (directory(&content), tempfile::tempdir().unwrap());
    let (_sharer, url) = sharer(from.path()).await;
    let ceiling = Ceiling::of_all(Rate(16e6));
    let mut request = request(&[&url], &to.path().join("y"));
    request.sources[0].conditions = Conditions { ceiling, ..Conditions::default() }.lasting();
    let start = Instant::now();
    fetched(request).await.unwrap();
    let seconds = start.elapsed().as_secs_f64();
    assert!(seconds > 1.95, "{seconds} s");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_of_any_size_comes_whole() {
    for size in [0, 1, 256 << 10, (256 << 10) + 1] {
        let content = content(size);
        let (from, to) = (directory(&content), tempfile::tempdir().unwrap());
        let (_sharer, url, mut told) = sharer_that_tells(from.path()).await;
        let target = to.path().join("y");
        fetched(request(&[&url], &target)).await.unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), content);
        let again = fetched(request(&[&url], &target)).await.unwrap();
        assert_eq!((again.was_there, again.brought), (size as u64, vec![0]), "it is there already");
        assert!(has_file(&mut told).await && has_file(&mut told).await, "the sharer hears of it each time");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_source_that_dies_is_replaced_by_the_other() {
    let content = content(100 * MB);
    let (from, to) = (directory(&content), tempfile::tempdir().unwrap());
    let ((first, one), (_second, two)) = (sharer(from.path()).await, sharer(from.path()).await);
    let target = to.path().join("y");
    let request = request(&[&one, &two], &target);
    let progress = progress(&request);
    let watched = Arc::clone(&progress);
    let killer = tokio::spawn(async move {
        while watched.state().sources[0].brought < 2 * MB as u64 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        first.abort();
    });
    let fetched = fetch(request, progress).await.unwrap();
    assert!(killer.is_finished(), "it came before its source was killed");
    killer.await.unwrap();
    assert_eq!(std::fs::read(&target).unwrap(), content);
    assert!(fetched.brought[0] >= 2 * MB as u64);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fetch_goes_on_where_it_was_broken_off() {
    let content = content(60 * MB);
    let (from, to) = (directory(&content), tempfile::tempdir().unwrap());
    let (_sharer, url, mut told) = sharer_that_tells(from.path()).await;
    let target = to.path().join("y");
    let request = request(&[&url], &target);
    let progress = progress(&request);
    let first = tokio::spawn(fetch(request.clone(), Arc::clone(&progress)));
    while progress.state().sources[0].brought < 20 * MB as u64 {
        assert!(!first.is_finished(), "{:?}", first.await);
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    assert!(!target.exists());
    assert!(!has_file(&mut told).await, "who leaves has not got it");
    // The thread of the disk may still be at its last chunks.
    let second = loop {
        match fetched(request.clone()).await {
            Err(FetchError::Store(error)) => assert!(error.to_string().contains("another fetch"), "{error}"),
            other => break other.unwrap(),
        }
    };
    assert!(second.was_there > 10 * MB as u64, "{second:?}");
    assert_eq!(second.was_there + second.brought[0], content.len() as u64, "nothing twice");
    assert_eq!(std::fs::read(&target).unwrap(), content);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_shared_is_not_fetched() {
    let (from, to) = (directory(b"abc"), tempfile::tempdir().unwrap());
    let (_sharer, url) = sharer(from.path()).await;
    let target = to.path().join("y");
    let other = Url { path: "z".into(), ..url.clone() };
    let error = fetched(request(&[&other], &target)).await.unwrap_err();
    assert!(error.to_string().contains("it shares no such file"), "{error}");
    let wanted = FetchRequest { hashes: vec![Root([1; 32]).into()], ..request(&[&url], &target) };
    let error = fetched(wanted).await.unwrap_err();
    assert!(error.to_string().contains("it has another file by this name"), "{error}");
    let pins = vec!["00".repeat(32).parse().unwrap()];
    let error = fetched(request(&[&Url { pins, ..url }], &target)).await.unwrap_err();
    assert!(matches!(error, FetchError::Refused(_)), "{error}");
    assert!(error.to_string().contains(": it is not the server that was meant, or has a new certificate: the server's certificate has the fingerprint "), "{error}");
    assert_eq!(std::fs::read_dir(to.path()).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_source_with_another_file_is_left_out() {
    let (from, other, to) = (directory(&content(MB)), directory(b"abc"), tempfile::tempdir().unwrap());
    let ((_first, one), (_second, two)) = (sharer(from.path()).await, sharer(other.path()).await);
    let target = to.path().join("y");
    let hashes = vec![Digests::of(MB as u64, &content(MB)[..]).unwrap().root().into()];
    let fetched = fetched(FetchRequest { hashes, ..request(&[&one, &two], &target) }).await.unwrap();
    assert_eq!(fetched.brought, [MB as u64, 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sources_with_different_files_are_refused_unless_a_hash_says_which_it_is() {
    let (from, other, to) = (directory(&content(MB)), directory(b"abc"), tempfile::tempdir().unwrap());
    let ((_first, one), (_second, two)) = (sharer(from.path()).await, sharer(other.path()).await);
    let target = to.path().join("y");
    let root = |bytes: &[u8]| Digests::of(bytes.len() as u64, bytes).unwrap().root();
    let (good, small) = (root(&content(MB)), root(b"abc"));
    for urls in [[&one, &two], [&two, &one]] {
        let error = fetched(request(&urls, &target)).await.unwrap_err().to_string();
        for said in [
            format!("{} has that with hash {good}", one.place()),
            format!("{} has that with hash {small}", two.place()),
        ] {
            assert!(error.contains(&said) && error.contains("--hash"), "{error}");
        }
        assert_eq!(std::fs::read_dir(to.path()).unwrap().count(), 0, "nothing is begun");
    }
    let says = |url: &Url, root| Url { hash: Some(root), ..url.clone() };
    let contradiction = fetched(request(&[&says(&one, good), &says(&two, small)], &target)).await.unwrap_err();
    assert!(matches!(contradiction, FetchError::Contradiction { .. }), "{contradiction}");
    let contradiction = fetched(FetchRequest { hashes: vec![small.into()], ..request(&[&says(&one, good)], &target) })
        .await
        .unwrap_err();
    assert!(matches!(contradiction, FetchError::Contradiction { .. }), "{contradiction}");
    let fetched = fetched(request(&[&two, &says(&one, good)], &target)).await.unwrap();
    assert_eq!((fetched.hashes, fetched.brought), (vec![good.into()], vec![0, MB as u64]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_source_that_cannot_be_reached_does_not_hold_up_the_others() {
    let (from, to) = (directory(&content(MB)), tempfile::tempdir().unwrap());
    let ((gone, one), (_sharer, two)) = (sharer(from.path()).await, sharer(from.path()).await);
    gone.abort();
    let _ = gone.await;
    let request = FetchRequest { patience: Duration::from_secs(15), ..request(&[&one, &two], &to.path().join("y")) };
    let begin = std::time::Instant::now();
    assert_eq!(fetched(request).await.unwrap().brought, [0, MB as u64]);
    assert!(begin.elapsed() < Duration::from_secs(12), "{:?}", begin.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_is_awaited_for_ever() {
    let (from, to) = (directory(b"abc"), tempfile::tempdir().unwrap());
    let (sharer, url) = sharer(from.path()).await;
    sharer.abort();
    let _ = sharer.await;
    let request = FetchRequest { patience: Duration::from_millis(300), ..request(&[&url], &to.path().join("y")) };
    let error = fetched(request).await.unwrap_err();
    assert!(matches!(error, FetchError::Unreachable { .. }), "{error}");
}

/// A sharer that has the right digests and sends something else; it counts the chunks that it is asked for.
async fn liar(content: Vec<u8>) -> (JoinHandle<()>, Arc<AtomicUsize>, Url) {
    let (server, url) = bound().await;
    let digests = Digests::of(content.len() as u64, &content[..]).unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let task = async move {
        while let Some(arrival) = server.next().await {
            lie(&arrival.accept().await.unwrap(), &digests, &count).await;
        }
    };
    (tokio::spawn(task), asked, url)
}

/// What a liar does on a connection until it ends.
async fn lie(session: &Session, digests: &Digests, asked: &AtomicUsize) {
    while let Ok((mut send, mut receive)) = session.connection().accept_bi().await {
        let Ok(request) = receive.read_to_end(4096).await else { continue };
        let bytes = match decode(&request[2..]).unwrap() {
            Request::Look { .. } => encode(&Answer::Found { size: digests.size(), root: digests.root() }),
            Request::Control { .. }
            | Request::Groups { .. }
            | Request::Ceiling { .. }
            | Request::Have { .. }
            | Request::List => encode(&Answer::Done),
            Request::Digests { .. } => encode(&Answer::Follows).map(|answer| [&answer, digests.list()].concat()),
            Request::Chunk { .. } => {
                asked.fetch_add(1, Ordering::Relaxed);
                encode(&Answer::Follows).map(|answer| [answer, vec![0; 256 << 10]].concat())
            }
        }
        .unwrap();
        // The fetcher may have gone.
        let _ = send.write_all(&bytes).await;
        let _ = send.finish();
    }
}

/// A sharer that is asked and never answers.
async fn mute() -> (JoinHandle<()>, Url) {
    let (server, url) = bound().await;
    let task = async move {
        let session = server.next().await.unwrap().accept().await.unwrap();
        session.connection().closed().await;
    };
    (tokio::spawn(task), url)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_source_that_sends_something_else_is_left_out() {
    let content = content(4 * MB);
    let (from, to) = (directory(&content), tempfile::tempdir().unwrap());
    let ((_liar, _, one), (_sharer, two)) = (liar(content.clone()).await, sharer(from.path()).await);
    let target = to.path().join("y");
    let request = request(&[&one, &two], &target);
    let progress = progress(&request);
    let fetched = fetch(request, Arc::clone(&progress)).await.unwrap();
    assert_eq!(fetched.brought, [0, content.len() as u64]);
    assert_eq!(std::fs::read(&target).unwrap(), content);
    let standing = &progress.state().sources[0].standing;
    assert!(matches!(standing, SourceStanding::Refused(why) if why.contains("something else")), "{standing:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_source_that_was_left_out_is_not_asked_again() {
    let content = content(4 * MB);
    let to = tempfile::tempdir().unwrap();
    let ((_liar, asked, one), (_mute, two)) = (liar(content).await, mute().await);
    let request = FetchRequest { patience: Duration::from_secs(4), ..request(&[&one, &two], &to.path().join("y")) };
    let progress = progress(&request);
    let running = tokio::spawn(fetch(request, Arc::clone(&progress)));
    while !matches!(progress.state().sources[0].standing, SourceStanding::Refused(_)) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // Sources that are lost are reached for again after half a second.
    tokio::time::sleep(Duration::from_millis(200)).await;
    let before = asked.load(Ordering::Relaxed);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(asked.load(Ordering::Relaxed), before);
    running.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sharer_takes_nothing_but_requests() {
    let from = directory(b"abc");
    let (_sharer, url) = sharer(from.path()).await;
    let local: SocketAddr = ([127, 0, 0, 1], 0).into();
    let client = Client::bind(&[local.into()]).await.unwrap();
    let remote = SocketAddr::from(([127, 0, 0, 1], url.port));
    let session = client.connect(&url.host, &[remote], &url.trust(), &named("lia").unwrap()).await.unwrap();
    let moment = Duration::from_millis(300);
    let opened = tokio::time::timeout(moment, session.connection().open_uni()).await;
    assert!(opened.is_err(), "nobody would read a stream that takes no answer");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_has_a_file_that_was_not_looked_for() {
    let from = directory(b"abc");
    let (_sharer, url, mut told) = sharer_that_tells(from.path()).await;
    let client = Client::bind(&["127.0.0.1:0".parse::<SocketAddr>().unwrap().into()]).await.unwrap();
    let remote = [SocketAddr::from(([127, 0, 0, 1], url.port))];
    let session = client.connect(&url.host, &remote, &url.trust(), &named("lia").unwrap()).await.unwrap();
    let (mut send, mut receive) = session.connection().open_bi().await.unwrap();
    let root = Digests::of(3, &b"abc"[..]).unwrap().root();
    send.write_all(&encode(&Request::Have { root }).unwrap()).await.unwrap();
    let answer = receive.read_to_end(4096).await.unwrap();
    assert_eq!(decode(&answer[2..]), Ok(Answer::Refused(Refusal::Unknown)));
    session.close(0, "");
    assert!(!has_file(&mut told).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn malformed_messages_are_refused_and_harm_no_sharer() {
    let content = content(MB);
    let (from, to) = (directory(&content), tempfile::tempdir().unwrap());
    let (_sharer, url) = sharer(from.path()).await;
    let client = Client::bind(&["127.0.0.1:0".parse::<SocketAddr>().unwrap().into()]).await.unwrap();
    let remote = [SocketAddr::from(([127, 0, 0, 1], url.port))];
    let session = client.connect(&url.host, &remote, &url.trust(), &named("lia").unwrap()).await.unwrap();
    // More than a message may have, with and without all that; no request; half of one; one with something behind it.
    let long = [&[0xff, 0xff][..], &vec![7; 65_535]].concat();
    let look = encode(&Request::Look { name: "x".into() }).unwrap();
    let behind = [&[look[0] + 1, 0], &look[2..], &[0]].concat();
    for bytes in [&long[..], &[0xff, 0xff], &[3, 0, 99, 99, 99], &look[..3], &behind, &[]] {
        for _ in 0..50 {
            let (mut send, mut receive) = session.connection().open_bi().await.unwrap();
            // It may be refused before it is all sent.
            let _ = send.write_all(bytes).await;
            let _ = send.finish();
            let answer = receive.read_to_end(4096).await.unwrap();
            assert!(matches!(decode(&answer[2..]), Ok(Answer::Refused(Refusal::Malformed))), "{bytes:?}");
        }
    }
    assert_eq!(fetched(request(&[&url], &to.path().join("x"))).await.unwrap().size, MB as u64);
}
