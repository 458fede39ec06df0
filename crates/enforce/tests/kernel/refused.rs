//! What cannot be done is said before anything is changed, or undone.

use std::process::Command;

use anabranch_enforce::{Backend, EnforceError, Enforcer, Traffic};

use crate::node::{alone, session, setup, two_cables, via};

fn refusal(node: &crate::node::Node, devices: &[(&str, Option<f64>)]) -> EnforceError {
    let setup = setup(devices);
    node.run(move || Enforcer::start(setup, Backend::Kernel).err()).expect("it is refused")
}

#[test]
fn devices_that_are_missing_or_of_others_are_refused_before_anything_changes() {
    let Some(_alone) = alone(&[]) else { return };
    let (a, _b) = two_cables();
    a.sh("tc qdisc add dev a1 root handle 1: htb");
    let before = a.state();
    assert_eq!(
        refusal(&a, &[("a0", None), ("a7", None)]).to_string(),
        "there is no device \"a7\"; `ip link` lists those that there are"
    );
    let foreign = refusal(&a, &[("a0", None), ("a1", None)]).to_string();
    assert!(foreign.contains("(htb 1:)") && foreign.contains("tc qdisc del dev a1 root"), "{foreign}");
    assert_eq!(a.state(), before);
}

#[test]
fn rules_of_others_in_our_place_are_refused() {
    let Some(_alone) = alone(&[]) else { return };
    let (a, _b) = two_cables();
    a.sh("ip rule add priority 20007 lookup 99");
    let said = refusal(&a, &[("a0", None)]).to_string();
    assert!(said.contains("priority 20007") && said.contains("choose `priorities`"), "{said}");
}

#[test]
fn sessions_that_the_kernel_refuses_leave_those_before() {
    let Some(_alone) = alone(&[]) else { return };
    let (a, _b) = two_cables();
    let enforcer = a.enforce(setup(&[("a0", None), ("a1", None)]));
    let good = session("good", 5201..=5201, vec![via("a0", "10.1.0.2")]);
    enforcer.set_sessions(std::slice::from_ref(&good)).unwrap();
    let before = a.state();
    // A gateway that is nowhere, and a control group that does not exist.
    let bad = session("bad", 5202..=5202, vec![via("a1", "10.2.0.2"), via("a1", "192.0.2.1")]);
    let said = enforcer.set_sessions(&[good.clone(), bad]).unwrap_err().to_string();
    assert!(said.contains("192.0.2.1"), "{said}");
    assert_eq!(a.state(), before);
    let mut bad = session("bad", 5202..=5202, vec![via("a1", "10.2.0.2")]);
    bad.traffic = vec![Traffic { cgroup: Some("no/such/group".to_owned()), ..Traffic::default() }];
    let said = enforcer.set_sessions(&[good, bad]).unwrap_err().to_string();
    assert!(said.contains("no/such/group"), "{said}");
    assert_eq!(a.state(), before);
}

#[test]
fn without_the_right_nothing_is_tried() {
    let Some(_alone) = alone(&["capsh"]) else { return };
    if std::env::var_os("ENFORCE_WITHOUT_RIGHT").is_some() {
        let refused = Enforcer::start(setup(&[("lo", None)]), Backend::Kernel).err();
        assert!(matches!(refused, Some(EnforceError::NotPermitted)), "{refused:?}");
        return;
    }
    let own = std::env::current_exe().unwrap();
    let test = "refused::without_the_right_nothing_is_tried";
    let line = format!("{} --exact {test}", own.display());
    let status = Command::new("capsh")
        .args(["--drop=cap_net_admin", "--", "-c", &line])
        .env("ENFORCE_WITHOUT_RIGHT", "1")
        .status()
        .unwrap();
    assert!(status.success());
}
