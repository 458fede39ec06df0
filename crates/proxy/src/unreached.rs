//! Why a target is not reached, as HTTP and SOCKS say it.

use std::io;

use http::StatusCode;

use crate::socks::Reply;

/// Why a target is not reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreached {
    /// The client is not known.
    #[error("the exit does not know the token")]
    Unknown,
    /// The rules do not allow the target.
    #[error("the rules of the exit do not allow it")]
    NotAllowed,
    /// There is no address of the name.
    #[error("there is no address of the name")]
    NoAddress,
    /// The target refuses connections.
    #[error("it refuses connections")]
    Refused,
    /// The target did not answer in time.
    #[error("it does not answer")]
    TimedOut,
    /// There is no way to the target.
    #[error("there is no way to it")]
    NoWay,
    /// The exit cannot serve so much at a time.
    #[error("the exit serves as many connections as it can")]
    Busy,
    /// The client has used up its quota, or a relay on the way that at the next exit.
    #[error("a quota on the way is used up")]
    Spent,
    /// The relays on the way are too many, or lead in a circle.
    #[error("the relays on the way are too many, or lead in a circle")]
    Circle,
    /// The exit has no device for IP packets.
    #[error("the exit carries no IP packets; it does with `--tun`")]
    NoPackets,
    /// There is no connection to the exit.
    #[error("the exit cannot be reached")]
    NoExit,
    /// Something else.
    #[error("it cannot be reached")]
    Other,
}

impl Unreached {
    /// All reasons that an exit gives, with the name that stands for each in the header `proxy-status`
    /// [rfc9209, sec. 2.3]. It has none for quotas.
    const NAMES: [(Self, &str); 10] = [
        (Self::Unknown, "http_request_denied"),
        (Self::NotAllowed, "destination_ip_prohibited"),
        (Self::NoAddress, "dns_error"),
        (Self::Refused, "connection_refused"),
        (Self::TimedOut, "connection_timeout"),
        (Self::NoWay, "destination_ip_unroutable"),
        (Self::Busy, "connection_limit_reached"),
        (Self::Spent, "quota_exceeded"),
        (Self::Circle, "proxy_loop_detected"),
        (Self::NoPackets, "proxy_configuration_error"),
    ];

    /// What the error of a connection means.
    pub(crate) fn of(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Self::Refused,
            io::ErrorKind::TimedOut => Self::TimedOut,
            io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable | io::ErrorKind::AddrNotAvailable => {
                Self::NoWay
            }
            _ => Self::Other,
        }
    }

    /// The status of an answer.
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::Unknown => StatusCode::PROXY_AUTHENTICATION_REQUIRED,
            Self::NotAllowed => StatusCode::FORBIDDEN,
            Self::TimedOut => StatusCode::GATEWAY_TIMEOUT,
            Self::Spent => StatusCode::TOO_MANY_REQUESTS,
            Self::Busy | Self::NoExit => StatusCode::SERVICE_UNAVAILABLE,
            Self::NoPackets => StatusCode::NOT_IMPLEMENTED,
            Self::NoAddress | Self::Refused | Self::NoWay | Self::Circle | Self::Other => StatusCode::BAD_GATEWAY,
        }
    }

    /// The value of the header `proxy-status`.
    pub(crate) fn header(self) -> String {
        let name = Self::NAMES.iter().find(|(own, _)| *own == self).map_or("proxy_internal_error", |(_, name)| name);
        format!("anabranch; error={name}")
    }

    /// Reads an answer: by its header, or by its status where it has none.
    pub(crate) fn read(status: StatusCode, header: Option<&str>) -> Self {
        let name = header.and_then(|header| header.split("error=").nth(1)).unwrap_or_default();
        let name = name.split([';', ',', ' ']).next().unwrap_or_default();
        let found = Self::NAMES.iter().find(|(_, own)| *own == name).map(|(own, _)| *own);
        found.unwrap_or(match status {
            StatusCode::PROXY_AUTHENTICATION_REQUIRED | StatusCode::UNAUTHORIZED => Self::Unknown,
            StatusCode::FORBIDDEN => Self::NotAllowed,
            StatusCode::TOO_MANY_REQUESTS => Self::Spent,
            StatusCode::GATEWAY_TIMEOUT => Self::TimedOut,
            StatusCode::SERVICE_UNAVAILABLE => Self::Busy,
            StatusCode::NOT_IMPLEMENTED => Self::NoPackets,
            _ => Self::Other,
        })
    }

    /// The answer to a request of SOCKS.
    pub(crate) fn reply(self) -> Reply {
        match self {
            Self::NotAllowed | Self::Spent => Reply::NotAllowed,
            Self::NoAddress => Reply::NoHost,
            Self::Refused => Reply::Refused,
            Self::TimedOut => Reply::TimedOut,
            Self::NoWay => Reply::NoNetwork,
            Self::Unknown | Self::Busy | Self::Circle | Self::NoPackets | Self::NoExit | Self::Other => Reply::Failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_reads_as_it_is_written() {
        for (reason, name) in Unreached::NAMES {
            let header = reason.header();
            assert!(header.ends_with(name));
            assert_eq!(Unreached::read(reason.status(), Some(&header)), reason);
        }
    }

    #[test]
    fn answers_of_others_are_read_too() {
        let read = |status: u16, header| Unreached::read(StatusCode::from_u16(status).unwrap(), header);
        assert_eq!(read(502, Some("example; error=connection_refused; details=\"x\"")), Unreached::Refused);
        assert_eq!(read(403, None), Unreached::NotAllowed);
        assert_eq!(read(407, Some("")), Unreached::Unknown);
        assert_eq!(read(502, Some("error=")), Unreached::Other);
        assert_eq!(read(504, Some("x; error=unheard_of")), Unreached::TimedOut);
    }
}
