//! What is known of the capacity of lines: a rate, a file that some program writes, an interface, or a program that tells it.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use anabranch_core::Rate;
use anabranch_core::parse::parse_rate;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::UnixStream;
use tokio::sync::watch;
use tokio::time::sleep;

/// Time between looks at a file, and at an interface.
const LOOK: Duration = Duration::from_millis(10);
const SELDOM: Duration = Duration::from_secs(1);

/// The longest line that is read.
const MOST_LINE: u64 = 256;

/// Bits a second in a megabit a second.
const MEGA: f64 = 1e6;

/// Where the capacity of lines is known from.
#[derive(Clone, Debug, PartialEq)]
pub enum Capacity {
    /// It is this rate.
    Rate(Rate),
    /// It stands in a file, and may change.
    File(PathBuf),
    /// It is the speed of an interface, as the system knows it.
    Interface(String),
    /// A program at this socket says it, in lines.
    Socket(PathBuf),
}

/// The reason why a text says no capacity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is no capacity: {reason}; write a rate such as '50 Mbit/s', file:PATH, interface:NAME or socket:PATH"
)]
pub struct CapacityError {
    text: String,
    reason: String,
}

impl FromStr for Capacity {
    type Err = CapacityError;

    fn from_str(text: &str) -> Result<Self, CapacityError> {
        let wrong = |reason: &str| CapacityError { text: text.to_owned(), reason: reason.to_owned() };
        let path = |rest: &str| if rest.is_empty() { Err(wrong("a path is missing")) } else { Ok(PathBuf::from(rest)) };
        match text.split_once(':') {
            Some(("file", rest)) => path(rest).map(Self::File),
            Some(("socket", rest)) => path(rest).map(Self::Socket),
            Some(("interface", name)) if is_name(name) => Ok(Self::Interface(name.to_owned())),
            Some(("interface", _)) => Err(wrong("that is no name of an interface")),
            // A number without a unit may be of any.
            _ if text.trim().parse::<f64>().is_ok() => Err(wrong("it has no unit")),
            _ => rate(text).map(Self::Rate).map_err(|reason| wrong(&reason)),
        }
    }
}

impl fmt::Display for Capacity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(rate) => write!(formatter, "{} bit/s", rate.0),
            Self::File(path) => write!(formatter, "file:{}", path.display()),
            Self::Interface(name) => write!(formatter, "interface:{name}"),
            Self::Socket(path) => write!(formatter, "socket:{}", path.display()),
        }
    }
}

/// Whether a text can be the name of an interface, and no way to other files.
fn is_name(text: &str) -> bool {
    let is_way = matches!(text, "" | "." | "..") || text.contains('/');
    !is_way && text.len() < 16 && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// A rate over zero; without a unit it is in bits a second.
fn rate(text: &str) -> Result<Rate, String> {
    let text = text.trim();
    let rate = match text.parse::<f64>() {
        Ok(bps) => Rate(bps),
        Err(_) => parse_rate(text).map_err(|error| error.to_string())?,
    };
    if rate.0 > 0.0 && rate.0.is_finite() { Ok(rate) } else { Err("it must be over zero".to_owned()) }
}

/// The first line of a file, if it is an ordinary one and the line has ended: others may be writing it.
fn first_line(path: &Path) -> io::Result<String> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no ordinary file"));
    }
    let mut text = String::new();
    File::open(path)?.take(MOST_LINE).read_to_string(&mut text)?;
    match text.split_once('\n') {
        Some((line, _)) => Ok(line.to_owned()),
        None => Err(io::Error::other("its first line has no end")),
    }
}

/// The file in which the system has the speed of an interface.
fn speed_file(name: &str) -> PathBuf {
    Path::new("/sys/class/net").join(name).join("speed")
}

impl Capacity {
    /// Checks that the capacity can be found.
    ///
    /// # Errors
    /// If it cannot now.
    pub fn check(&self) -> Result<(), CapacityError> {
        let wrong = |reason: String| CapacityError { text: self.to_string(), reason };
        match self {
            Self::Rate(_) => Ok(()),
            Self::File(path) => {
                let line = first_line(path).map_err(|error| wrong(error.to_string()))?;
                rate(&line).map(|_| ()).map_err(wrong)
            }
            Self::Interface(name) => {
                let found = first_line(&speed_file(name)).ok().and_then(|line| speed(&line));
                found.map(|_| ()).ok_or_else(|| wrong("the system knows no speed of it".to_owned()))
            }
            Self::Socket(path) if path.exists() => Ok(()),
            Self::Socket(_) => Err(wrong("there is no such socket".to_owned())),
        }
    }

    /// Follows the capacity until nobody hears of it any more. What cannot be read leaves it as it was.
    pub(crate) async fn follow(self, tell: watch::Sender<Option<Rate>>) {
        let following = async {
            match &self {
                Self::Rate(rate) => _ = tell.send_replace(Some(*rate)),
                Self::File(path) => look(&tell, LOOK, || rate(&first_line(path).ok()?).ok()).await,
                Self::Interface(name) => {
                    let file = speed_file(name);
                    look(&tell, SELDOM, || speed(&first_line(&file).ok()?)).await;
                }
                Self::Socket(path) => loop {
                    // A program that has gone may come back.
                    let _ = hear(path, &tell).await;
                    sleep(SELDOM).await;
                },
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = following => {}
            () = tell.closed() => {}
        }
    }
}

/// The speed of an interface, which the system has in Mbit/s; `None` where it knows none.
fn speed(text: &str) -> Option<Rate> {
    let mbps: f64 = text.trim().parse().ok()?;
    (mbps > 0.0).then_some(Rate(mbps * MEGA))
}

async fn look(tell: &watch::Sender<Option<Rate>>, every: Duration, read: impl Fn() -> Option<Rate>) {
    loop {
        if let Some(rate) = read() {
            tell.send_if_modified(|before| before.replace(rate) != Some(rate));
        }
        sleep(every).await;
    }
}

/// Hears what a program says, until it ends.
async fn hear(path: &Path, tell: &watch::Sender<Option<Rate>>) -> io::Result<()> {
    let mut lines = BufReader::new(UnixStream::connect(path).await?);
    let mut line = Vec::new();
    loop {
        line.clear();
        let count = tokio::io::AsyncReadExt::take(&mut lines, MOST_LINE).read_until(b'\n', &mut line).await?;
        if count == 0 || line.last() != Some(&b'\n') {
            return Ok(());
        }
        if let Some(rate) = std::str::from_utf8(&line).ok().and_then(|text| rate(text).ok()) {
            tell.send_if_modified(|before| before.replace(rate) != Some(rate));
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;
    use tokio::net::UnixListener;
    use tokio::time::timeout;

    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn capacities_are_read_and_mistakes_are_named() {
        let read = |text: &str| text.parse::<Capacity>();
        assert_eq!(read("50 Mbit/s"), Ok(Capacity::Rate(Rate(50e6))));
        assert_eq!(read("file:/run/modem/rate"), Ok(Capacity::File("/run/modem/rate".into())));
        assert_eq!(read("socket:/run/modem.sock"), Ok(Capacity::Socket("/run/modem.sock".into())));
        for name in ["wwan0", "eth0.100"] {
            assert_eq!(read(&format!("interface:{name}")), Ok(Capacity::Interface(name.to_owned())));
        }
        for (text, said) in [
            ("", "is no capacity"),
            ("0 bit/s", "over zero"),
            ("50", "has no unit"),
            ("inf", "has no unit"),
            ("interface:..", "no name of an interface"),
            ("-5 Mbit/s", "is no capacity"),
            ("fast", "is no capacity"),
            ("file:", "a path is missing"),
            ("interface:../../x", "no name of an interface"),
            ("interface:", "no name of an interface"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
        assert_eq!((speed("1000\n"), speed("-1\n"), speed("")), (Some(Rate(1e9)), None, None));
    }

    #[tokio::test]
    async fn a_file_is_followed_and_what_is_no_rate_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rate");
        let (tell, mut hear) = watch::channel(None);
        let capacity = Capacity::File(file.clone());
        assert!(capacity.check().is_err(), "it is not there yet");
        tokio::spawn(capacity.clone().follow(tell));
        for (text, bps) in [("40 Mbit/s\n", 40e6), ("nothing\n", 40e6), ("5", 40e6), ("12.5e6\nmore", 12.5e6)] {
            std::fs::write(&file, text).unwrap();
            sleep(5 * LOOK).await;
            let wanted = |rate: &Option<Rate>| *rate == Some(Rate(bps));
            timeout(LONG, hear.wait_for(wanted)).await.unwrap().unwrap();
        }
        assert_eq!(capacity.check(), Ok(()));
    }

    #[tokio::test]
    async fn a_program_is_heard_and_heard_again_when_it_is_back() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("modem");
        let (tell, mut hear) = watch::channel(None);
        tokio::spawn(Capacity::Socket(place.clone()).follow(tell));
        for bps in [30e6, 10e6] {
            let listener = UnixListener::bind(&place).unwrap();
            let (mut program, _) = timeout(LONG, listener.accept()).await.unwrap().unwrap();
            program.write_all(format!("no rate\n{bps} bit/s\n").as_bytes()).await.unwrap();
            timeout(LONG, hear.wait_for(|rate| *rate == Some(Rate(bps)))).await.unwrap().unwrap();
            drop((listener, program));
            std::fs::remove_file(&place).unwrap();
        }
    }
}
