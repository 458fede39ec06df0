"""Whatever a file holds, reading it ends in a network, in demands, or in a `ScenarioError`, and soon."""

import functools
import gzip
import json
import random
import time
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch import ScenarioError, read_demands, read_network
from format_samples import GML, GRAPHML, NATIVE, XML, rfc8345, rfc_link
from slowness import least_s

pytestmark = pytest.mark.slow

TWO_WAY = [rfc_link("A", "B", **{"anabranch:capacity-bps": 1e6, "anabranch:twin": ""}), rfc_link("B", "A")]
NODE_LINK = (
    '{"directed": true, "nodes": [{"id": 1}, {"id": "b"}], "links": [{"source": 1, "target": "b", "capacity": 2}]}'
)
VALID = {
    "a.graphml": GRAPHML,
    "a.gml": GML,
    "a.json": rfc8345(links=TWO_WAY),
    "b.json": NODE_LINK,
    "a.csv": "source,target,capacity,delay,name,two_way\nN1,N2,1 Mbit/s,5 ms,x,yes\nN2,N3,2 kbit/s,,,no\n",
    "b.csv": "source,target,demand_bps,weight,qos,start_s,stop_s,name\nN1,N3,5,1,0.5,0,1,x\n",
    "a.txt": NATIVE,
    "a.xml": XML,
    "a.intra": "N1 N2 5\nN2 N1 5\nN1 N3 1\n",
}
SUFFIXES = [".graphml", ".gml", ".json", ".csv", ".txt", ".xml", ".intra", ".gml.gz", ".dat"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


@pytest.fixture(scope="module")
def network(folder):
    (folder / "three.txt").write_text(NATIVE)
    return read_network(folder / "three.txt", capacity=1e6)


def read_both_ways(path, network):
    """Read a file as a network and as demands; only a `ScenarioError` may come of it."""
    with suppress(ScenarioError):
        read_network(path, capacity=1e9, delay=0.0)
    with suppress(ScenarioError):
        read_demands(path, network)


@pytest.mark.parametrize("name", VALID)
@settings(max_examples=150)
@given(data=st.data())
def test_a_damaged_file_is_read_or_refused(folder, network, name, data):
    content = bytearray(VALID[name].encode())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content)))
        gone = data.draw(st.integers(0, 12))
        junk = b'\0 -1 nan inf 1e999 [ ( { " < & \xff , \n'.split(b" ")
        content[at : at + gone] = data.draw(st.binary(max_size=4) | st.sampled_from(junk))
    end = data.draw(st.none() | st.integers(0, len(content)))
    path = folder / name
    path.write_bytes(bytes(content[:end]))
    read_both_ways(path, network)


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(max_examples=60)
@given(content=st.binary(max_size=300) | st.text(max_size=300).map(lambda t: t.encode("utf-8", "surrogatepass")))
def test_noise_is_refused(folder, network, suffix, content):
    path = folder / f"noise{suffix}"
    path.write_bytes(content)
    read_both_ways(path, network)


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "node-id", "te"]), inner),
    max_leaves=5,
)


@settings(max_examples=200)
@given(data=st.data())
def test_json_of_wrong_types_is_refused(folder, network, data):
    top = json.loads(VALID[data.draw(st.sampled_from(["a.json", "b.json"]))])
    value = top
    while True:
        items = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not items:
            break
        key = data.draw(st.sampled_from(items))
        if not isinstance(value[key], (dict, list)) or data.draw(st.integers(0, 4)) == 0:
            value[key] = data.draw(json_values)
            break
        value = value[key]
    path = folder / "types.json"
    path.write_text(json.dumps(top))
    read_both_ways(path, network)


def noises():
    """Ten megabytes each: bytes, letters, one long word, one character over and over."""
    source = random.Random(1)
    size = 10_000_000
    letters = bytes(source.choices(b'abc 123.\n"[]{}(),<>', k=100_000))
    return {
        "bytes": source.randbytes(size),
        "high bytes": bytes(source.choices(range(0x80, 0x100), k=100_000)) * (size // 100_000),
        "printable": letters * (size // len(letters)),
        "word": b"x" * size,
        "brackets": b"[" * size,
        "quotes": b'"' * (size + 1),
        "blanks": b"\n " * (size // 2) + b"x",
        "zeros": gzip.compress(bytes(size)),
        "sections": b"NODES (\n)\n" * (size // 10),
        "elements": b"<a>" * (size // 30),
        "commas": b"source,target\n" + b"," * size,
    }


@pytest.fixture(scope="module")
def noise():
    return noises()


def refusal_s(reader):
    """Processor time until a file is refused in a few words."""
    start = time.process_time()
    with pytest.raises(ScenarioError) as caught:
        reader()
    assert len(str(caught.value)) < 1500
    return time.process_time() - start


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_ten_megabytes_of_noise_are_refused_within_two_seconds(folder, network, noise, suffix):
    path = folder / f"large{suffix}"
    for kind, content in noise.items():
        path.write_bytes(content)
        for reader in (lambda: read_network(path, capacity=1e9), lambda: read_demands(path, network)):
            assert least_s(functools.partial(refusal_s, reader), 2.0) < 2.0, kind
