//! The answers of an exit to requests for IP packets [rfc9484].

use std::sync::Arc;

use http::{Request, StatusCode};

use super::answers::{ServerStream, accepted, entered, read, refuse};
use super::bundles::{Far, Place, Proxy};
use super::{Exit, Peer};
use crate::accounts::Known;
use crate::bundle::greeting::{FLOW, HOPS, Part};
use crate::bundle::turns::Share;
use crate::ip::carrier::IpFlow;
use crate::ip::path::{Scope, Wrong};
use crate::ledger::{Kind, Ledger};
use crate::tunnel::Receiving;
use crate::unreached::Unreached;
use crate::uplink::Behalf;

impl Exit {
    /// Answers a request for IP packets, and carries them.
    pub(super) async fn answer_ip(
        &self,
        mut stream: ServerStream,
        request: &Request<()>,
        (peer, client): (&Peer, &Arc<Known>),
    ) {
        let hops = request.headers().get(HOPS).map_or(Ok(0), |value| value.to_str().unwrap_or_default().parse());
        let asked = (Scope::read(request.uri().path()), read::<Part>(request, FLOW), hops);
        let (scope, part, hops) = match asked {
            (Ok(scope), Ok(part), Ok(hops)) => (scope, part, hops),
            // Only addresses can be seen in packets.
            (Err(Wrong::Name), ..) => {
                return refuse(&mut stream, StatusCode::NOT_IMPLEMENTED, Some(Unreached::NoPackets)).await;
            }
            _ => return refuse(&mut stream, StatusCode::BAD_REQUEST, None).await,
        };
        match (peer.line.get(), part) {
            (None, Some(_)) => refuse(&mut stream, StatusCode::BAD_REQUEST, None).await,
            (Some((proxy, _)), Some(part)) => {
                let flow = match self.part_of_ip(part, (scope, hops), proxy).await {
                    Ok(flow) => flow,
                    Err((status, reason)) => return refuse(&mut stream, status, reason).await,
                };
                self.attach_ip(stream, &flow, peer).await;
            }
            (_, None) => {
                let share = Share { client: client.number, weight: client.weight };
                match self.begin_ip(scope, client, (Behalf { share, hops }, peer.ledger())).await {
                    Ok((flow, work)) => {
                        tokio::join!(self.attach_ip(stream, &flow, peer), work);
                    }
                    Err(reason) => refuse(&mut stream, reason.status(), Some(reason)).await,
                }
            }
        }
    }

    /// The tunnel of a stream of a proxy, which begins with the first of its streams.
    async fn part_of_ip(
        &self,
        part: Part,
        (scope, hops): (Scope, u16),
        proxy: &Arc<Proxy>,
    ) -> Result<Arc<IpFlow>, (StatusCode, Option<Unreached>)> {
        let dialed = match proxy.place(part) {
            Place::First(give) => {
                let behalf = Behalf { share: proxy.share, hops };
                let dialed = match self.begin_ip(scope, &proxy.client, (behalf, &proxy.ledger)).await {
                    Ok((flow, work)) => {
                        let own = proxy.clone();
                        tokio::spawn(async move {
                            work.await;
                            own.ends(part.flow);
                        });
                        Ok(Far::Ip(flow))
                    }
                    Err(reason) => {
                        proxy.ends(part.flow);
                        Err(reason)
                    }
                };
                give.send_replace(Some(dialed.clone()));
                dialed
            }
            Place::Other(mut wait) => match wait.wait_for(Option::is_some).await {
                Ok(dialed) => dialed.clone().unwrap_or(Err(Unreached::Other)),
                Err(_) => Err(Unreached::Other),
            },
            Place::None => return Err((StatusCode::GONE, None)),
        };
        match dialed {
            Ok(Far::Ip(flow)) => Ok(flow),
            Ok(_) => Err((StatusCode::BAD_REQUEST, None)),
            Err(reason) => Err((reason.status(), Some(reason))),
        }
    }

    /// Begins a tunnel; the work that carries its packets until its end.
    async fn begin_ip(
        &self,
        scope: Scope,
        client: &Arc<Known>,
        (behalf, ledger): (Behalf, &Arc<Ledger>),
    ) -> Result<(Arc<IpFlow>, impl Future<Output = ()> + Send + 'static), Unreached> {
        let permit = (self.enter()?, client.enter()?);
        let (flow, incoming) = IpFlow::new(client.limits.clone());
        let work = self.onward.host((&flow, incoming), (self.gateway.as_ref(), scope), client, behalf).await?;
        let entry = entered(ledger, client, (&"*", Kind::Ip), &flow);
        Ok((flow, async move {
            work.await;
            drop((entry, permit));
        }))
    }

    /// Carries packets of a tunnel over a stream.
    async fn attach_ip(&self, mut stream: ServerStream, flow: &Arc<IpFlow>, peer: &Peer) {
        // Datagrams may come before the answer has gone.
        let datagrams = peer.flows.of_many(stream.id().into_inner());
        if stream.send_response(accepted(true)).await.is_ok() {
            let (sends, receives) = stream.split();
            let line = peer.line.get().map(|(_, line)| line.clone());
            let quic = peer.session.connection().clone();
            flow.attach(line, datagrams, (sends, Receiving::new(receives)), quic).await;
        }
        // A client that breaks off the last stream of a tunnel, on a connection that works, does not want it any more.
        if peer.session.connection().close_reason().is_none() {
            flow.abandon();
        }
    }
}
