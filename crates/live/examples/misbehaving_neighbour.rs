//! A neighbour that misbehaves over good connections, for a test: it has the certificate of an agent, and says what no
//! agent says. It speaks QUIC by itself, since it does what the crate does not do.
//!
//! ```text
//! misbehaving_neighbour HOW IDENTITY.pem AUTHORITY.pem NODE LINK ADDRESS
//! ```
//!
//! HOW is one of the names in `Way::named`. The neighbour at ADDRESS is called again and again until the program is
//! killed; a line for each call says how much was said.

use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anabranch_agents::message::{Fate, LinkNews, Stamp, encode, number_of};
use anabranch_agents::{AgentId, ClientId, Fields, HopMessage, Instance, Parcel, Payload, Proofs, Step};
use anabranch_live::authority::{Authority, Signed};
use anabranch_live::quic::SendStream;
use anabranch_live::quic::tls::QuicClientConfig;
use anabranch_live::security::Identity;
use anabranch_proto::packet::Positions;
use anabranch_proto::protocols::d_slen::{Change, Probe};
use noq::{ClientConfig, Endpoint};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};

type Fault = Box<dyn std::error::Error>;

/// Time between calls.
const PAUSE: Duration = Duration::from_millis(20);

/// Messages on one connection, before there is another.
const MOST: u64 = 20_000;

/// A way to misbehave.
#[derive(Clone, Copy)]
enum Way {
    /// Bytes of chance.
    Random,
    /// A length, and less than that many bytes.
    Truncated,
    /// A length that no message has.
    Long,
    /// Good news of its own link, which comes and goes.
    News,
    /// Renewals that it may begin, one after the other.
    Renewals,
    /// News in the name of another agent.
    Forged,
    /// Control packets of sessions that nobody has.
    Packets,
    /// One message, repeated without end.
    Again,
}

impl Way {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "random" => Self::Random,
            "truncated" => Self::Truncated,
            "long" => Self::Long,
            "news" => Self::News,
            "renewals" => Self::Renewals,
            "forged" => Self::Forged,
            "packets" => Self::Packets,
            "again" => Self::Again,
            _ => return None,
        })
    }
}

/// Who says it.
struct Speaker {
    signed: Signed,
    agent: AgentId,
    link: u32,
    epoch: u64,
}

impl Speaker {
    /// The first message on a connection.
    fn hello(&self) -> HopMessage {
        let own = Instance { epoch: self.epoch, hop: 0 };
        let proof = self.signed.prove(&renewal_text(self.agent, Stamp { epoch: self.epoch, round: 0 }));
        HopMessage::Hello { own, heard: 0, of: Instance::default(), proof }
    }

    /// The bytes of what is said as number `count` after hello.
    fn bytes(&self, way: Way, count: u64) -> Result<Vec<u8>, Fault> {
        let number = if matches!(way, Way::Again) { 0 } else { count };
        let stamp = Stamp { epoch: self.epoch, round: count as u32 + 1 };
        let payload = match way {
            Way::Random => return Ok((0..997).map(|place| chance(count * 1000 + place) as u8).collect()),
            Way::Truncated => return Ok([&200u16.to_le_bytes()[..], &[7; 90]].concat()),
            Way::Long => return Ok(vec![0xff; 64]),
            Way::News | Way::Again => Payload::Link(self.news(self.agent, stamp)),
            Way::Forged => Payload::Link(self.news(AgentId::of("a"), stamp)),
            Way::Renewals => {
                let proof = self.signed.prove(&renewal_text(self.agent, stamp));
                Payload::Renewal { agent: self.agent, stamp, proof }
            }
            Way::Packets => Payload::Parcel(self.parcel(count)),
        };
        Ok(encode(&HopMessage::Payload { number, payload })?)
    }

    /// News of a link of an agent, by the certificate of this one.
    fn news(&self, agent: AgentId, stamp: Stamp) -> LinkNews {
        let capacity = f64::from(stamp.round % 2) * 1e7;
        let numbers = [agent.0, self.link, stamp.round].map(u32::to_le_bytes).concat();
        let text = [b"anabranch link 1\0", &numbers[..], &stamp.epoch.to_le_bytes(), &capacity.to_le_bytes()].concat();
        LinkNews { agent, link: self.link, stamp, capacity, proof: self.signed.prove(&text) }
    }

    /// The first packet of a session over its link.
    fn parcel(&self, count: u64) -> Parcel {
        let fields = Fields::DSlen(Probe {
            portion: Change { old: 0.0, new: 1.0 },
            rate: Change::default(),
            bottlenecks: Positions::default(),
            level: f64::INFINITY,
            setter: u8::MAX,
            reserved: 0.0,
            is_leave: false,
            round: 0,
        });
        Parcel {
            client: ClientId(count),
            joining: 1,
            path: 0,
            protocol: 0,
            steps: vec![Step { agent: self.agent, link: self.link }],
            end: AgentId::of("b"),
            before: 0,
            at: 0,
            is_returning: false,
            reach: 1,
            wants_reply: count.is_multiple_of(2),
            generation: chance(count),
            fate: Fate::Counted,
            ceiling: f64::INFINITY,
            fields,
        }
    }
}

/// A number that follows from another, as SplitMix64 has it.
fn chance(seed: u64) -> u64 {
    let number = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

/// What the proof of a renewal is about.
fn renewal_text(agent: AgentId, stamp: Stamp) -> Vec<u8> {
    let numbers = [agent.0, stamp.round].map(u32::to_le_bytes).concat();
    [b"anabranch renewal 1\0", &numbers[..], &stamp.epoch.to_le_bytes()].concat()
}

/// Takes every certificate: this program has nothing to lose.
#[derive(Debug)]
struct Anybody;

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ECDSA_NISTP256_SHA256]
    }
}

fn settings(pem: &str) -> Result<ClientConfig, Fault> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    let key = PrivateKeyDer::from_pem_slice(pem.as_bytes())?;
    let mut tls = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anybody))
        .with_client_auth_cert(chain?, key)?;
    tls.alpn_protocols = vec![b"anabranch-control/2".to_vec()];
    Ok(ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?)))
}

/// Says hello and what follows, until the other end has enough; how many messages it took.
async fn misbehave(send: &mut SendStream, speaker: &Speaker, way: Way) -> Result<u64, Fault> {
    send.write_all(&encode(&speaker.hello())?).await?;
    for count in 0..MOST {
        if send.write_all(&speaker.bytes(way, count)?).await.is_err() {
            return Ok(count);
        }
        if matches!(way, Way::Truncated) {
            tokio::time::sleep(Duration::from_secs(3)).await;
        }
    }
    Ok(MOST)
}

async fn run(arguments: &[String]) -> Result<(), Fault> {
    let [how, identity, authority, node, link, address] = arguments else {
        return Err("HOW IDENTITY.pem AUTHORITY.pem NODE LINK ADDRESS".into());
    };
    let way = Way::named(how).ok_or("there is no such way to misbehave")?;
    let (pem, address): (String, SocketAddr) = (std::fs::read_to_string(identity)?, address.parse()?);
    let endpoint = Endpoint::client(SocketAddr::from(([127, 0, 0, 1], 0)))?;
    let config = settings(&pem)?;
    loop {
        // Each call is a start of its own: an agent that restarts again and again.
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH)?.as_micros() as u64;
        let signed = Signed::new(Authority::read(Path::new(authority))?, &Identity::of_pem(&pem)?)?;
        let speaker = Speaker { signed, agent: AgentId::of(node), link: number_of(link), epoch };
        if let Ok(connection) = endpoint.connect_with(config.clone(), address, "anabranch")?.await
            && let Ok((mut send, _receive)) = connection.open_bi().await
        {
            println!("{}", misbehave(&mut send, &speaker, way).await.unwrap_or(0));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(&std::env::args().skip(1).collect::<Vec<_>>()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("{fault}");
            ExitCode::FAILURE
        }
    }
}
