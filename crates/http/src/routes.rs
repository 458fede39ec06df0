//! The one list of what a site has: requests are answered by it, and `/openapi.json` is made from it.

use std::pin::Pin;

use hyper::Response;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::answer::Body;
use crate::asked::{Asked, Parameter};
use crate::problem::Problem;

/// Something that can be asked for at a site.
pub struct Route<S: 'static> {
    /// Its path; a part in braces is a parameter.
    pub path: &'static str,
    /// What it is, in a few words.
    pub summary: &'static str,
    /// What a request may say.
    pub parameters: &'static [Parameter],
    /// What the answer is.
    pub gives: Gives,
    /// Answers a request.
    pub answer: fn(&S, &Asked) -> Result<Answer, Problem>,
}

/// What a route gives.
pub enum Gives {
    /// JSON of a type.
    Json(fn(&mut SchemaGenerator) -> Schema),
    /// Something else, of a media type.
    Other(&'static str),
}

impl Gives {
    /// JSON of a type.
    pub const fn json<T: JsonSchema>() -> Self {
        Self::Json(SchemaGenerator::subschema_for::<T>)
    }
}

/// An answer.
pub enum Answer {
    /// Bytes of a media type.
    Whole(&'static str, Vec<u8>),
    /// An answer with its headers.
    Ready(Response<Body>),
    /// An answer that takes a while.
    Later(Pin<Box<dyn Future<Output = Result<Answer, Problem>> + Send>>),
}

/// A route with the values of its parameters in a path.
pub type Found<'a, S> = (&'static Route<S>, Vec<(&'static str, &'a str)>);

/// The route of a path, with the values of its parameters there.
pub fn find<'a, S>(routes: &'static [Route<S>], path: &'a str) -> Option<Found<'a, S>> {
    routes.iter().find_map(|route| Some((route, values(route.path, path)?)))
}

/// The values of the parts of a pattern that are in braces.
fn values<'a>(pattern: &'static str, path: &'a str) -> Option<Vec<(&'static str, &'a str)>> {
    let (mut wanted, mut given) = (pattern.split('/'), path.split('/'));
    let mut found = Vec::new();
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return Some(found),
            (Some(wanted), Some(given)) => match wanted.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
                Some(name) if !given.is_empty() => found.push((name, given)),
                None if wanted == given => {}
                _ => return None,
            },
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUTES: &[Route<()>] = &[
        Route {
            path: "/",
            summary: "",
            parameters: &[],
            gives: Gives::Other(""),
            answer: |(), _| Err(Problem::absent("")),
        },
        Route {
            path: "/api/v1/sessions/{number}",
            summary: "",
            parameters: &[],
            gives: Gives::Other(""),
            answer: |(), _| Err(Problem::absent("")),
        },
    ];

    #[test]
    fn a_path_finds_its_route() {
        let path = |path| find(ROUTES, path).map(|(route, values)| (route.path, values));
        assert_eq!(path("/"), Some(("/", vec![])));
        assert_eq!(path("/api/v1/sessions/17"), Some(("/api/v1/sessions/{number}", vec![("number", "17")])));
        for none in
            ["", "//", "/metrics/", "/api/v1", "/api/v1/sessions/", "/api/v1/sessions/1/2", "/Api/v1/sessions/1"]
        {
            assert_eq!(path(none), None, "{none}");
        }
    }
}
