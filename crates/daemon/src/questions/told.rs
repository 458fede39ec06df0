//! Paths and items: what the topology manager and the rendezvous tell a program.

use std::sync::Arc;

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite};

use super::lines::say_text;
use crate::control::Control;
use crate::topology::Wanted;

/// Tells a program what it asks, until it ends its stream or writes anything more.
///
/// # Errors
/// Returns the reason why it is told nothing, or nothing more.
pub(super) async fn serve(
    application: &Arc<str>,
    wanted: Wanted,
    mut reader: impl AsyncBufRead + Unpin,
    writer: &mut (impl AsyncWrite + Unpin),
    control: &Control,
) -> Result<(), String> {
    let rights = control.rights();
    let mut changes = rights.changes();
    wanted.check(application, rights)?;
    let mut asked = control.topology().ask(application, wanted.clone()).await?;
    control.turns().charge(application, asked.took);
    let mut more = Vec::new();
    let mut rest = (&mut reader).take(1);
    let mut end = std::pin::pin!(rest.read_until(b'\n', &mut more));
    let mut told = asked.now();
    loop {
        if !say_text(writer, &told).await {
            return Ok(());
        }
        told = loop {
            tokio::select! {
                _ = &mut end => return Ok(()),
                Ok(()) = changes.changed() => wanted.check(application, rights)?,
                next = asked.next() => match next {
                    Some(next) => break next,
                    None => return Ok(()),
                },
            }
        };
    }
}
