//! One UDP socket for each local address, which noq sees as one.
//!
//! With one socket for all, a queue that is full on the way out of one interface holds up what goes out of the others. So
//! there is a socket for each address; a packet takes the one that is bound to its source address, or, if that is left
//! open, the first of the kind of its destination. Where a socket has no room, the packet is dropped, as any queue on the
//! way could drop it: noq waits for no socket, so a path with a full queue holds up no other.

use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use noq::udp::{RecvMeta, Transmit, UdpSocketState};
use noq::{AsyncUdpSocket, UdpSender};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::io::Interest;
use tokio::net::UdpSocket;
