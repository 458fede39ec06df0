//! What the file of an agent says about keeping traffic to rates: read and checked.

use std::fs;
use std::path::PathBuf;

use anabranch_daemon::{Config, Kind};
use tempfile::TempDir;

/// A square: b leads over two ways to d.
const NETWORK: &str = r#"
[run]
duration = "1 s"
[[link]]
source = "a"
target = "b"
capacity = "10 Mbit/s"
two_way = true
[[link]]
source = "b"
target = "d"
capacity = "10 Mbit/s"
two_way = true
[[link]]
source = "a"
target = "c"
capacity = "20 Mbit/s"
two_way = true
[[link]]
source = "c"
target = "d"
capacity = "20 Mbit/s"
two_way = true
"#;

const HEAD: &str = r#"
node = "a"
network = "network.toml"
listen = "127.0.0.1:4434"
applications = "127.0.0.1:4435"
state = "state"
authority = "authority.pem"
certificate = "agent.pem"
"#;

/// Every machine has the loopback device.
const REST: &str = r#"
[neighbours]
b = "127.0.0.1:4436"
c = "127.0.0.1:4437"
[enforce]
backend = "kernel"
[links.a-b]
interface = "lo"
capacity = "10 Mbit/s"
via = "192.0.2.1"
[links.a-c]
interface = "lo"
capacity = "20 Mbit/s"
via = "192.0.2.5"
source = "192.0.2.6"
[segments]
c = { end = "fc00:3::e" }
[[session]]
name = "web"
to = "d"
match = [{ to = ["198.51.100.0/24"], protocol = "tcp", ports = [443] }]
"#;

struct Field(TempDir);

impl Field {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("network.toml"), NETWORK).unwrap();
        Self(folder)
    }

    fn read(&self, rest: &str) -> Result<Config, String> {
        let path: PathBuf = self.0.path().join("agent.toml");
        fs::write(&path, format!("{HEAD}{rest}")).unwrap();
        Config::read(&path).map_err(|error| error.to_string())
    }
}

#[test]
fn two_links_of_one_device_share_it() {
    let config = Field::new().read(REST).unwrap();
    let enforcement = config.enforcement.clone().unwrap();
    assert_eq!(enforcement.backend, Kind::Kernel);
    let devices: Vec<_> = enforcement.setup.devices.iter().map(|device| (&*device.name, device.capacity)).collect();
    assert_eq!(devices, [("lo", Some(anabranch_core::Rate(30e6)))]);
    assert_eq!(config.dry().enforcement.unwrap().backend, Kind::Print);
}

#[test]
fn mistakes_are_named_with_what_would_do() {
    let field = Field::new();
    let unpacked =
        "[segments]\nd = { unpack = \"fc00:4::4\" }\nc = { end = \"fc00:3::e\" }\nb = { end = \"fc00:2::e\" }\n";
    let through = REST.replace("[segments]\nc = { end = \"fc00:3::e\" }\n", unpacked);
    assert!(field.read(&through).is_ok(), "{through}");
    let over_link = through.replace("b = { end", "b-d = { end");
    assert!(field.read(&over_link).is_ok(), "{over_link}");
    for (text, old, new, said) in [
        (
            REST,
            "[enforce]\nbackend = \"kernel\"\n",
            "",
            "session `web`: it has a match, but nothing keeps traffic to rates",
        ),
        (REST, "backend = \"kernel\"", "backend = \"colonel\"", "unknown variant `colonel`"),
        (
            REST,
            "backend = \"kernel\"",
            "backend = \"kernel\"\nmark_mask = 5",
            "enforce: mark_mask: 0x5 is no row of bits",
        ),
        (
            REST,
            "interface = \"lo\"\ncapacity = \"20",
            "capacity = \"20",
            "`a-c` has no device; write it, such as [links.\"a-c\"]",
        ),
        (REST, "via = \"192.0.2.1\"\n", "", "session `web`: nothing leads its packets; write the next router"),
        (REST, "via = \"192.0.2.5\"\n", "", "links.a-c: source is the address of packets that take `via`"),
        (REST, "\"192.0.2.6\"", "\"2001:db8::1\"", "links.a-c: via and source are of two families"),
        (REST, "[segments]\nc =", "[segments]\ne =", "segments: there is no node `e`"),
        (REST, "{ end = \"fc00:3::e\" }", "{}", "segments.c: write end ="),
        (REST, "[segments]\nc = { end", "[segments]\nb-d = { unpack", "packets are unpacked at nodes"),
        (
            REST,
            "match = [{ to = [\"198.51.100.0/24\"], protocol = \"tcp\", ports = [443] }]",
            "match = [{}]",
            "would take all traffic",
        ),
        (REST, "[\"198.51.100.0/24\"]", "[\"198.51.100.0/99\"]", "is no prefix"),
        (&through, "b = { end = \"fc00:2::e\" }\n", "", "session `web`: no segment leads over `b`"),
    ] {
        assert!(text.contains(old), "{old}");
        let error = field.read(&text.replacen(old, new, 1)).expect_err(new);
        assert!(error.contains(said), "{new}: {error}");
        assert!(error.contains("agent.toml"), "{error}");
    }
}

#[test]
fn an_interface_that_is_not_there_is_a_warning() {
    let field = Field::new();
    let text = REST.replacen("interface = \"lo\"\ncapacity = \"20", "interface = \"eth77\"\ncapacity = \"20", 1);
    let warnings = field.read(&text).unwrap().warnings();
    assert_eq!(warnings, ["links.a-c: there is no interface `eth77` now; the link is down until there is"]);
    assert!(field.read(REST).unwrap().warnings().is_empty());
}

#[test]
fn a_node_with_one_link_needs_no_next_router() {
    let field = Field::new();
    fs::write(
        field.0.path().join("network.toml"),
        "[run]\nduration = \"1 s\"\n[[link]]\nsource = \"a\"\ntarget = \"b\"\ncapacity = \"10 Mbit/s\"\ntwo_way = true\n",
    )
    .unwrap();
    let rest = "[neighbours]\nb = \"127.0.0.1:4436\"\n[enforce]\nbackend = \"print\"\n[links.a-b]\ninterface = \"lo\"\n\
                capacity = \"10 Mbit/s\"\n[[session]]\nname = \"web\"\nto = \"b\"\npaths = 1\nmatch = [{ protocol = \"udp\" }]\n";
    assert!(field.read(rest).is_ok(), "{:?}", field.read(rest).err());
}
