//! The clients that an exit or a relay knows: each has a token, and may have limits of its own.

use std::sync::Arc;

use anabranch_core::Rate;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::bundle::turns::{LEAST_WEIGHT, MOST_WEIGHT};
use crate::ledger::Ledger;
use crate::meter::Limits;
pub use crate::meter::Quota;
use crate::rules::Rules;
use crate::token::{Digest, Token, shown};
use crate::unreached::Unreached;

/// A client, and what it may do.
#[derive(Clone, Debug)]
pub struct Account {
    /// Its name; nothing where there is one token for all.
    pub name: Option<String>,
    /// What it shows.
    pub token: Token,
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
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum AccountError {
    #[error("the weight of {0} must be from 0.001 to 1000")]
    Weight(String),
    #[error("the rate of {0} must be at least 64 kbit/s")]
    Rate(String),
    #[error("the number of connections of {0} must be at least 1")]
    Connections(String),
    #[error("{0} and {1} have the same token, so that they are one client; give each a token of its own")]
    Same(String, String),
}

/// The least rate of an account.
const LEAST_RATE: f64 = 64e3;

impl Account {
    /// The account of all clients that show a token.
    pub fn of(token: Token) -> Self {
        Self { name: None, token, weight: 1.0, rate: None, quota: None, connections: None, rules: None, granted: None }
    }

    fn title(&self) -> String {
        self.name.as_ref().map_or_else(|| "all clients".to_owned(), |name| format!("`{name}`"))
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

/// A client that has shown its token.
#[derive(Debug)]
pub(crate) struct Known {
    /// Its name; nothing where there is one token for all.
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

/// The clients that an exit or a relay knows, by digests of their tokens: how long a comparison takes says nothing of them.
#[derive(Debug)]
pub struct Accounts(Vec<(Digest, Arc<Known>)>);

impl Accounts {
    /// These accounts.
    ///
    /// # Errors
    /// If limits cannot be kept, or two have the same token.
    pub fn new(accounts: Vec<Account>) -> Result<Self, AccountError> {
        for (at, account) in accounts.iter().enumerate() {
            account.check()?;
            if let Some(same) = accounts[..at].iter().find(|other| other.token.digest() == account.token.digest()) {
                return Err(AccountError::Same(same.title(), account.title()));
            }
        }
        let known = |(number, account): (u64, Account)| {
            let Account { name, token, weight, rate, quota, connections, rules, granted } = account;
            let limits = Limits::of(rate, quota.as_ref());
            let room = connections.map(|most| Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS))));
            (
                token.digest(),
                Arc::new(Known { name, number, weight, limits, rules, quota, granted, ledger: Arc::default(), room }),
            )
        };
        Ok(Self((0..).zip(accounts).map(known).collect()))
    }

    /// All clients.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Known>> {
        self.0.iter().map(|(_, known)| known)
    }

    /// The client that a value of `proxy-authorization` shows: as a bearer's token, or as a password with any name.
    pub(crate) fn find(&self, header: &[u8]) -> Option<Arc<Known>> {
        let digest = shown(header)?;
        self.0.iter().find(|(own, _)| *own == digest).map(|(_, known)| known.clone())
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
        let found = accounts.find(b"Bearer another-token-of-16").unwrap();
        assert_eq!((found.name.as_deref(), found.number), (Some("other"), 1));
        assert!(accounts.find(b"Bearer a-token-that-nobody-has").is_none());
        let held = [found.enter(), found.enter()];
        assert!(held.iter().all(Result::is_ok));
        assert_eq!(found.enter().err(), Some(Unreached::Busy));
        drop(held);
        assert!(found.enter().is_ok());
    }

    #[test]
    fn a_client_without_bytes_has_no_more_connections_until_they_are_renewed() {
        let quota = Quota::new(1000, 1000);
        let own = Account { quota: Some(quota.clone()), ..account("one", "0123456789abcdef") };
        let found = Accounts::new(vec![own]).unwrap().find(b"Bearer 0123456789abcdef").unwrap();
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
        assert!(twice.to_string().starts_with("`one` and `two` have the same token"), "{twice}");
    }
}
