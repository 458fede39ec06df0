//! The clients that an exit or a relay knows: each has a token or a certificate, and may have limits of its own.

use std::path::Path;
use std::sync::Arc;

use anabranch_core::Rate;
use anabranch_live::callers::{Caller, Callers};
use anabranch_live::security::SecurityError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::bundle::turns::{LEAST_WEIGHT, MOST_WEIGHT};
use crate::credential::{Certificate, Credential};
use crate::ledger::Ledger;
use crate::meter::Limits;
pub use crate::meter::Quota;
use crate::rules::Rules;
use crate::token::{Digest, Token, shown};
use crate::unreached::Unreached;

/// A client, and what it may do.
#[derive(Clone, Debug)]
pub struct Account {
    /// Its name; nothing where one credential is for all.
    pub name: Option<String>,
    /// What it shows.
    pub shows: Credential,
    /// Its part of the lines to the next exit, relative to those of other clients.
    pub weight: f64,
    /// The most that it may send and receive over all connections: each of both.
    pub rate: Option<Rate>,
    /// The bytes that it may send and receive together.
    pub quota: Option<Arc<Quota>>,
    /// The most connections and flows to targets at a time.
    pub connections: Option<usize>,
    /// The targets that are allowed, instead of those of the exit.
    pub rules: Option<Rules>,
    /// What the network grants for what is sent to it, if that is known.
    pub granted: Option<Granted>,
}

/// What the network grants to a client, which somebody else changes.
pub type Granted = watch::Receiver<Rate>;

/// The reason why accounts cannot be used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum AccountError {
    #[error("the weight of {0} must be from 0.001 to 1000")]
    Weight(String),
    #[error("the rate of {0} must be at least 64 kbit/s")]
    Rate(String),
    #[error("the number of connections of {0} must be at least 1")]
    Connections(String),
    #[error("{0} and {1} have the same token or certificate, so that they are one client; give each one of its own")]
    Same(String, String),
    #[error(
        "the certificate of {0} has to be signed; name the file of the authorities by --client-authorities, or give the \
         SHA-256 of the certificate"
    )]
    NoAuthority(String),
    #[error(transparent)]
    Security(#[from] SecurityError),
}

/// The least rate of an account.
const LEAST_RATE: f64 = 64e3;

impl Account {
    /// The account of all clients that show a token.
    pub fn of(token: Token) -> Self {
        let shows = Credential::Token(token);
        Self { name: None, shows, weight: 1.0, rate: None, quota: None, connections: None, rules: None, granted: None }
    }

    fn title(&self) -> String {
        title(self.name.as_deref())
    }

    fn check(&self) -> Result<(), AccountError> {
        if !(LEAST_WEIGHT..=MOST_WEIGHT).contains(&self.weight) {
            return Err(AccountError::Weight(self.title()));
        }
        // Not a number is no rate.
        if self.rate.is_some_and(|rate| !(rate.0 >= LEAST_RATE && rate.0.is_finite())) {
            return Err(AccountError::Rate(self.title()));
        }
        if self.connections == Some(0) {
            return Err(AccountError::Connections(self.title()));
        }
        Ok(())
    }
}

fn title(name: Option<&str>) -> String {
    name.map_or_else(|| "all clients".to_owned(), |name| format!("`{name}`"))
}

/// A client that has shown its token or its certificate.
#[derive(Debug)]
pub(crate) struct Known {
    /// Its name; nothing where one credential is for all.
    pub name: Option<String>,
    /// Its number among the accounts.
    pub number: u64,
    pub weight: f64,
    pub limits: Limits,
    pub rules: Option<Rules>,
    pub quota: Option<Arc<Quota>>,
    granted: Option<Granted>,
    /// All its flows.
    pub ledger: Arc<Ledger>,
    room: Option<Arc<Semaphore>>,
}

impl Known {
    /// The right to another connection, which is held until that ends.
    ///
    /// # Errors
    /// If the client has as many as it may, or has used up its quota.
    pub fn enter(&self) -> Result<Option<OwnedSemaphorePermit>, Unreached> {
        if self.quota.as_ref().is_some_and(|quota| quota.is_spent()) {
            return Err(Unreached::Spent);
        }
        let permit = self.room.as_ref().map(|room| room.clone().try_acquire_owned()).transpose();
        permit.map_err(|_| Unreached::Busy)
    }

    /// What the network grants now for what is sent to it.
    pub fn granted(&self) -> Option<Rate> {
        self.granted.as_ref().map(|granted| *granted.borrow())
    }

    /// The client at an address, as it is shown.
    pub fn at(&self, remote: &str) -> String {
        self.name.as_ref().map_or_else(|| remote.to_owned(), |name| format!("{name} {remote}"))
    }
}

/// The clients that an exit or a relay knows.
#[derive(Debug)]
pub struct Accounts(Vec<(Key, Arc<Known>)>);

/// What a client is known by.
#[derive(Debug, PartialEq, Eq)]
enum Key {
    /// The digest of its token: how long a comparison takes says nothing of the token.
    Token(Digest),
    Certificate(Certificate),
}

impl From<&Credential> for Key {
    fn from(credential: &Credential) -> Self {
        match credential {
            Credential::Token(token) => Self::Token(token.digest()),
            Credential::Certificate(certificate) => Self::Certificate(certificate.clone()),
        }
    }
}

impl Accounts {
    /// These accounts.
    ///
    /// # Errors
    /// If limits cannot be kept, or two show the same.
    pub fn new(accounts: Vec<Account>) -> Result<Self, AccountError> {
        for (at, account) in accounts.iter().enumerate() {
            account.check()?;
            if let Some(same) = accounts[..at].iter().find(|other| Key::from(&other.shows) == Key::from(&account.shows))
            {
                return Err(AccountError::Same(same.title(), account.title()));
            }
        }
        let known = |(number, account): (u64, Account)| {
            let Account { name, shows, weight, rate, quota, connections, rules, granted } = account;
            let limits = Limits::of(rate, quota.as_ref());
            let room = connections.map(|most| Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS))));
            (
                Key::from(&shows),
                Arc::new(Known { name, number, weight, limits, rules, quota, granted, ledger: Arc::default(), room }),
            )
        };
        Ok(Self((0..).zip(accounts).map(known).collect()))
    }

    /// All clients.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Known>> {
        self.0.iter().map(|(_, known)| known)
    }

    /// The certificates that the exit takes; `None` if clients show tokens alone.
    ///
    /// # Errors
    /// If the file of authorities cannot be used, or is needed and not there.
    pub fn callers(&self, authorities: Option<&Path>) -> Result<Option<Callers>, AccountError> {
        let mut pins = Vec::new();
        for (key, known) in &self.0 {
            match key {
                Key::Certificate(Certificate::Pinned(pin)) => pins.push(*pin),
                Key::Certificate(_) if authorities.is_none() => {
                    return Err(AccountError::NoAuthority(title(known.name.as_deref())));
                }
                Key::Certificate(_) | Key::Token(_) => {}
            }
        }
        let callers = (authorities.is_some() || !pins.is_empty()).then(|| Callers::new(authorities, pins));
        Ok(callers.transpose()?)
    }

    /// The client that a value of `proxy-authorization` shows, as a bearer's token or as a password with any name; without one
    /// the client whose certificate was taken.
    pub(crate) fn find(&self, header: Option<&[u8]>, caller: Option<&Caller>) -> Option<Arc<Known>> {
        let found = match (header, caller) {
            (Some(header), _) => {
                let digest = shown(header)?;
                self.0.iter().find(|(key, _)| *key == Key::Token(digest))
            }
            (None, Some(caller)) => {
                let meets = |key: &Key| match key {
                    Key::Certificate(certificate) => certificate.meets(caller),
                    Key::Token(_) => None,
                };
                // The first of those that are met equally well.
                self.0.iter().rev().filter(|(key, _)| meets(key).is_some()).max_by_key(|(key, _)| meets(key))
            }
            (None, None) => None,
        };
        found.map(|(_, known)| known.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(name: &str, token: &str) -> Account {
        Account { name: Some(name.to_owned()), ..Account::of(Token::new(token).unwrap()) }
    }

    #[test]
    fn a_client_is_found_by_its_token_and_has_as_many_connections_as_it_may() {
        let (one, other) = (account("one", "0123456789abcdef"), account("other", "another-token-of-16"));
        let accounts = Accounts::new(vec![one, Account { connections: Some(2), ..other }]).unwrap();
        let found = accounts.find(Some(b"Bearer another-token-of-16"), None).unwrap();
        assert_eq!((found.name.as_deref(), found.number), (Some("other"), 1));
        assert!(accounts.find(Some(b"Bearer a-token-that-nobody-has"), None).is_none());
        let held = [found.enter(), found.enter()];
        assert!(held.iter().all(Result::is_ok));
        assert_eq!(found.enter().err(), Some(Unreached::Busy));
        drop(held);
        assert!(found.enter().is_ok());
    }

    /// The account of those with a certificate.
    fn certified(name: &str, certificate: &str) -> Account {
        let shows = Credential::Certificate(certificate.parse().unwrap());
        Account { shows, ..account(name, "0123456789abcdef") }
    }

    #[test]
    fn a_client_is_found_by_its_certificate_first_by_its_digest_then_by_its_name() {
        let (pin, other) = ("5f".repeat(32), "60".repeat(32));
        let caller = |pin: &str, names: &[&str]| Caller {
            fingerprint: pin.parse().unwrap(),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
        };
        let all = [certified("rest", "*"), certified("office", "office.example"), certified("guest", &pin)];
        let accounts = Accounts::new(all.to_vec()).unwrap();
        let found = |caller: &Caller| accounts.find(None, Some(caller)).unwrap().name.clone().unwrap();
        assert_eq!(found(&caller(&pin, &["office.example"])), "guest");
        assert_eq!(found(&caller(&other, &["CN=x", "Office.Example"])), "office");
        assert_eq!(found(&caller(&other, &[])), "rest");
        // A token that is shown counts, even a wrong one.
        assert!(accounts.find(Some(b"Bearer 0123456789abcdef"), Some(&caller(&pin, &[]))).is_none());
        let some = Accounts::new(all[1..].to_vec()).unwrap();
        assert!(some.find(None, Some(&caller(&other, &["CN=office.example"]))).is_none());
        assert!(some.find(None, None).is_none());
    }

    #[test]
    fn names_in_certificates_need_authorities_and_digests_do_not() {
        let callers = |all: Vec<Account>| Accounts::new(all).unwrap().callers(None);
        assert!(callers(vec![account("one", "0123456789abcdef")]).unwrap().is_none());
        assert!(callers(vec![certified("one", &"5f".repeat(32))]).unwrap().is_some());
        for certificate in ["office", "*"] {
            let error = callers(vec![certified("one", certificate)]).unwrap_err().to_string();
            assert!(error.starts_with("the certificate of `one` has to be signed; "), "{error}");
        }
    }

    #[test]
    fn a_client_without_bytes_has_no_more_connections_until_they_are_renewed() {
        let quota = Quota::new(1000, 1000);
        let own = Account { quota: Some(quota.clone()), ..account("one", "0123456789abcdef") };
        let found = Accounts::new(vec![own]).unwrap().find(Some(b"Bearer 0123456789abcdef"), None).unwrap();
        assert_eq!(found.enter().err(), Some(Unreached::Spent));
        quota.renew();
        assert!(found.enter().is_ok());
    }

    #[test]
    fn accounts_that_cannot_be_are_refused_by_name() {
        let own = account("one", "0123456789abcdef");
        let refused = |account: Account| Accounts::new(vec![account]).unwrap_err().to_string();
        for weight in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e9] {
            assert!(refused(Account { weight, ..own.clone() }).contains("`one` must be from 0.001"));
        }
        for rate in [0.0, 1.0, f64::NAN, f64::INFINITY] {
            assert!(refused(Account { rate: Some(Rate(rate)), ..own.clone() }).contains("at least 64 kbit/s"));
        }
        assert!(refused(Account { connections: Some(0), ..own.clone() }).contains("at least 1"));
        let twice = Accounts::new(vec![own.clone(), Account { name: Some("two".to_owned()), ..own }]).unwrap_err();
        assert!(twice.to_string().starts_with("`one` and `two` have the same token or certificate"), "{twice}");
    }
}
