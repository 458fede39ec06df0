"""Small files in each format, made for the tests; no one's data."""

import json

import pytest

from anabranch import ScenarioError, read_network

GRAPHML = """<?xml version="1.0"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="l" for="node" attr.name="label" attr.type="string"/>
  <key id="x" for="node" attr.name="Longitude" attr.type="double"/>
  <key id="y" for="node" attr.name="Latitude" attr.type="double"/>
  <key id="s" for="edge" attr.name="LinkSpeedRaw" attr.type="double"/>
  <key id="t" for="graph" attr.name="label" attr.type="string"/>
  <graph edgedefault="undirected"><data key="t">Inland</data>
    <node id="0"><data key="l">Quay &amp; Lock</data><data key="x">5.5</data><data key="y">52.25</data></node>
    <node id="1"><data key="l">M&#252;hle</data><data key="x">500</data><data key="y">52.25</data></node>
    <node id="2"><data key="l">Quay &amp; Lock</data></node>
    <node id="3"><data key="l"> </data></node>
    <edge source="0" target="1"><data key="s">2000000</data></edge>
    <edge source="1" target="0"><data key="s">3e6</data></edge>
    <edge source="2" target="2"/>
    <edge source="2" target="3"><data key="s">0</data></edge>
  </graph>
</graphml>
"""

GML = """# the same network as above
graph [
  label "Inland"
  node [ id 0 label "Quay &amp; Lock" Longitude 5.5 Latitude 52.25 ]
  node [ id 1 label "M&#252;hle" Longitude 500 Latitude 52.25 graphics [ x 1 y 2 ] ]
  node [ id 2 label "Quay &amp; Lock" ]
  node [ id 3 label " " ]
  edge [ source 0 target 1 LinkSpeedRaw 2000000.0 ]
  edge [ source 1 target 0 LinkSpeedRaw 3000000 ]
  edge [ source 2 target 2 ]
  edge [ source 2 target 3 LinkSpeedRaw 0 ]
]
"""


NATIVE = """?SNDlib native format; type: network; version: 1.0
# made for this test
META (
  unit = GBITPERSEC
  origin = nobody(at all)
)
NODES (
  N1 ( 10.0 50.0 )
  N2 ( 11.0 51.0 )
  N3 ( 12.0 52.0 )
)
LINKS (
  L1 ( N1 N2 ) 4.00 0.00 0.00 0.00 ( 9.00 1.00 )
  L2 ( N3 N2 ) 0.00 0.00 0.00 0.00 ( 20.00 1.00 10.00 2.00 )
  L3 ( N1 N3 ) 0.00 0.00 0.00 0.00 ( )
)
DEMANDS (
  D1 ( N1 N3 ) 1 1.50 UNLIMITED
  D2 ( N3 N1 ) 2 0.25 3
)
ADMISSIBLE_PATHS (
  D1 (
    P_0 ( L3 )
    P_1 ( L1 L2 )
  )
)
"""


XML = """<?xml version="1.0"?>
<network xmlns="http://sndlib.zib.de/network" version="1.0">
 <meta><time>20200101-0000</time><unit>KBITPERSEC</unit></meta>
 <networkStructure><nodes><node id="N1"/><node id="N3"/></nodes><links/></networkStructure>
 <demands>
  <demand id="N1_N3"><source>N1</source><target>N3</target><demandValue> 12.5 </demandValue></demand>
 </demands>
</network>
"""


def rfc8345(*extra, links=()):
    """Two layers: a bare one, and a routed one with what `links` gives."""
    nodes = [{"node-id": n, "ietf-network-topology:termination-point": [{"tp-id": f"{n}-p1"}]} for n in "AB"]
    tops = [
        {"network-id": "fibre", "network-types": {}, "node": [{"node-id": "duct"}]},
        {"network-id": "routed", "network-types": {}, "node": nodes, "ietf-network-topology:link": list(links)},
    ]
    return json.dumps({"ietf-network:networks": {"network": [*tops, *extra]}})


def rfc_link(source, target, **more):
    """A link between the first points of two nodes."""
    start = {"source-node": source, "source-tp": f"{source}-p1"}
    end = {"dest-node": target, "dest-tp": f"{target}-p1"}
    return {"link-id": f"{source}|{target}", "source": start, "destination": end, **more}


def read(tmp_path, name, text, **options):
    """Read `text` as a file of this name."""
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_network(path, **options)


def refused(tmp_path, name, text, **options):
    """The message with which `text` is refused, without the folder."""
    with pytest.raises(ScenarioError) as caught:
        read(tmp_path, name, text, **options)
    return str(caught.value).replace(f"{tmp_path}/", "")
