//! The TUN device of a proxy or an exit.

use std::io;

/// A device cannot be used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum DeviceError {
    #[error(
        "cannot open the TUN device `{name}`: {error}; it takes the right CAP_NET_ADMIN, or a device that is there \
         already: ip tuntap add dev {name} mode tun user USER"
    )]
    Open { name: String, error: io::Error },
    #[error("cannot set up the TUN device `{name}`: {error}; it takes the right CAP_NET_ADMIN")]
    SetUp { name: String, error: io::Error },
    #[error("the TUN device `{name}` has gone: {error}")]
    Gone { name: String, error: io::Error },
}

#[cfg(target_os = "linux")]
pub(super) use linux::{Device, own_addresses};
#[cfg(not(target_os = "linux"))]
pub(super) use other::{Device, own_addresses};

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::io::{self, Write};
    use std::net::IpAddr;

    use anabranch_tun::{Settings, addresses, addresses_of, has_ipv6, open, set_up};
    use ipnet::IpNet;
    use tokio::net::unix::pipe::Receiver;

    use super::DeviceError;

    /// A device that is open.
    pub(crate) struct Device {
        /// What the kernel sends: to read it is as to read a pipe.
        reader: Receiver,
        writer: File,
        name: String,
    }

    impl Device {
        /// Opens a device, which is made if there is none of this name.
        ///
        /// # Errors
        /// If it cannot be opened.
        pub fn open(name: &str) -> Result<Self, DeviceError> {
            let both = open(name).and_then(|file| Ok((file.try_clone()?, Receiver::from_file_unchecked(file)?)));
            let (writer, reader) = both.map_err(|error| DeviceError::Open { name: name.to_owned(), error })?;
            Ok(Self { reader, writer, name: name.to_owned() })
        }

        /// Its name.
        pub fn name(&self) -> &str {
            &self.name
        }

        /// Whether it can have addresses of the kind of this one.
        pub fn can_have(&self, address: IpAddr) -> bool {
            address.is_ipv4() || has_ipv6(&self.name)
        }

        /// The addresses that it has; none where the kernel does not tell them.
        pub fn addresses(&self) -> Vec<IpAddr> {
            addresses_of(&self.name).unwrap_or_default()
        }

        /// Gives it an MTU and addresses, and takes others away.
        ///
        /// # Errors
        /// If the kernel refuses.
        pub fn set_up(&self, mtu: u16, addresses: Vec<IpNet>, gone: Vec<IpNet>) -> Result<(), DeviceError> {
            let settings = Settings { mtu: mtu.into(), addresses, gone };
            set_up(&self.name, &settings).map_err(|error| DeviceError::SetUp { name: self.name.clone(), error })
        }

        /// The next packet that the kernel sends over the device: its length in the buffer.
        ///
        /// # Errors
        /// If the device has gone.
        pub async fn read(&self, packet: &mut [u8]) -> Result<usize, DeviceError> {
            let read = async {
                loop {
                    self.reader.readable().await?;
                    match self.reader.try_read(packet) {
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                        outcome => return outcome,
                    }
                }
            };
            read.await.map_err(|error: io::Error| DeviceError::Gone { name: self.name.clone(), error })
        }

        /// Has the kernel receive a packet. One that it does not take is lost, as networks lose packets.
        pub fn write(&self, packet: &[u8]) {
            let _ = (&self.writer).write(packet);
        }
    }

    /// All addresses of this machine.
    ///
    /// # Errors
    /// If the system does not tell them.
    pub(crate) fn own_addresses() -> io::Result<Vec<IpAddr>> {
        addresses()
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use std::io;
    use std::net::IpAddr;

    use ipnet::IpNet;

    use super::DeviceError;

    /// A device, of which there is none on this system.
    pub(crate) enum Device {}

    impl Device {
        pub fn open(name: &str) -> Result<Self, DeviceError> {
            let error = io::Error::new(io::ErrorKind::Unsupported, "only Linux has such devices");
            Err(DeviceError::Open { name: name.to_owned(), error })
        }

        pub fn name(&self) -> &str {
            match *self {}
        }

        pub fn can_have(&self, _: IpAddr) -> bool {
            match *self {}
        }

        pub fn addresses(&self) -> Vec<IpAddr> {
            match *self {}
        }

        pub fn set_up(&self, _: u16, _: Vec<IpNet>, _: Vec<IpNet>) -> Result<(), DeviceError> {
            match *self {}
        }

        pub async fn read(&self, _: &mut [u8]) -> Result<usize, DeviceError> {
            match *self {}
        }

        pub fn write(&self, _: &[u8]) {
            match *self {}
        }
    }

    pub(crate) fn own_addresses() -> io::Result<Vec<IpAddr>> {
        Ok(Vec::new())
    }
}
