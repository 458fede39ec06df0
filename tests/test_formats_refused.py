"""What is wrong in a file is said in one sentence: where, what, and what would do."""

import pytest

from anabranch import ScenarioError, read_network
from format_samples import GRAPHML, NATIVE, refused, rfc8345, rfc_link

MISTAKES = [
    ("gone.gml", None, "gone.gml: there is no such file; check the name and the folder"),
    ("a.gml", "", "a.gml: it is empty; check that it was written to its end"),
    ("a.gml", b"graph [\0]", "a.gml: it is binary, not text; name a text file in one of the known formats"),
    ("a.gml.gz", "graph", "a.gml.gz: it cannot be unpacked as gzip"),
    ("a.gml", "graph [ node [ id 1 ]", "a.gml: the file ends before the brackets that open in line 1 close"),
    ("a.gml", "graph [\n node [ label 1 ] ]", "a.gml, line 2: there is no `id` between the brackets"),
    ("a.gml", 'graph [\n label "x', "a.gml, line 2: a text begins here and never ends"),
    ("a.gml", "graph [ 5 ]", "a.gml, line 1: `5` stands where a key should"),
    ("a.gml", "graph [ node [ id 1 ]\n edge [ source 1 target 9 ] ]", "a.gml, line 2: there is no node with id `9`"),
    ("a.gml", "graph [ node [ id 1 ] node [ id 1 ] ]", "a.gml, line 1: another node has the same id"),
    ("a.gml", "graph [ ]", "a.gml: it has no nodes"),
    ("a.graphml", GRAPHML[:-30], "a.graphml, line 16: it is not well-formed XML"),
    ("a.graphml", GRAPHML.replace("3e6", "-3"), "a.graphml, edge `1-0`: LinkSpeedRaw is `-3`; it must be a number"),
    ("a.graphml", GRAPHML.replace("3e6", "nan"), "a.graphml, edge `1-0`: LinkSpeedRaw is `nan`; it must be a number"),
    ("a.graphml", "<!DOCTYPE a [<!ENTITY b 'c'>]><graphml/>", "a.graphml: it declares XML entities"),
    ("a.json", "{", "a.json, line 1: it is not JSON"),
    ("a.json", "[" * 100_000, "a.json: its JSON is out of bounds"),
    ("a.json", "[1]", "a.json: the file is `[1]`; it must be an object"),
    ("a.json", '{"nodes": 3, "links": []}', "a.json: `nodes` is `3`; it must be a list"),
    ("a.json", '{"nodes": [{"id": "\\ud800"}], "links": []}', "a.json, node 1: its `id` `\\ud800` holds half a char"),
    ("a.json", '{"nodes": [{"id": {}}], "links": []}', "a.json, node 1: its `id` is `{}`; it must be text or a number"),
    ("a.json", rfc8345(links=[rfc_link("A", "Z")]), "a.json, link `A|Z`: there is no node `Z`; declare it"),
    ("a.csv", "source,capacity_bps\n", "a.csv, line 1: the header has no column `target`"),
    ("a.csv", "source,target,capacty\n", "a.csv, line 1: there is no column `capacty` (did you mean `capacity`?)"),
    ("a.csv", "source,target\n\na,b,c\n", "a.csv, line 3: it has 3 cells and the header 2"),
    ("a.csv", "source,target,capacity\na,b,5\n", "a.csv, line 2: capacity: `5` is not a rate: it has no unit"),
    ("a.csv", "source,target,capacity_bps\na,b,nan\n", "a.csv, line 2: capacity_bps is `nan`; it must be a number"),
    ("a.csv", "source,target,delay_s\na,b,-1\n", "a.csv, line 2: delay_s is `-1`; it must be a number of seconds"),
    ("a.csv", "source,target\na,a\n", "a.csv, line 2: both ends are node `a`; a link must join two different nodes"),
    ("a.csv", "source,target,name\na,b,x\nb,c,x\n", "a.csv: link `x`: the name is already taken"),
    ("a.csv", "source,target,name,twin\na,b,x,y\n", "a.csv, link `x`: there is no link `y` to be its twin"),
    ("a.csv", 'source,target\n"a,b\n', "a.csv, line 2: it is not CSV"),
    ("a.intra", "a b 1\na b\n", "a.intra, line 2: `a b` is not `node node value`; correct it"),
    ("a.intra", "a b x\n", "a.intra, line 1: `x` is no weight or latency; it must be a number, 0 or more"),
    ("a.txt", NATIVE[:-4], "a.txt: section ADMISSIBLE_PATHS never ends; fetch the file again"),
    ("a.txt", NATIVE.replace("N3 N2", "N3 N9"), "a.txt, line 14: there is no node `N9`; declare it"),
    ("a.txt", NATIVE.replace("4.00", "-4.00"), "a.txt, line 13: a capacity of it is not a number of 0 or more"),
    ("a.txt", NATIVE.replace("GBIT", "GNAT"), "a.txt, line 4: `GNATPERSEC` is not a unit of rate"),
]


@pytest.mark.parametrize(("name", "text", "message"), MISTAKES)
def test_a_mistake_is_said_with_place_and_remedy(tmp_path, name, text, message):
    if text is None:
        with pytest.raises(ScenarioError) as caught:
            read_network(tmp_path / name, capacity=1e9)
        said = str(caught.value).replace(f"{tmp_path}/", "")
    else:
        said = refused(tmp_path, name, text, capacity=1e9)
    assert said.startswith(message)
    assert "; " in said


def test_what_is_no_file_is_refused(tmp_path):
    for path in (tmp_path, "/dev/zero", "a\0b", 3, None):
        with pytest.raises(ScenarioError):
            read_network(path)
