use super::*;
#[test]
fn dbg166() {
    let problem = problem(166, PLAIN);
    let mut solver = CSlen::new(Arc::clone(&problem), &Start::Equal).unwrap();
    for k in 1..400 {
        let met = solver.run(Stop::Certificate(1e-2), k);
        let a = solver.allocation(false, 1e-2);
        let c = certify(&problem, &a.path_rates, 1e-2);
        println!("{k} met {met} residual {} worst {:?}", c.residual, c.worst_path);
        if k > 397 {
            let w = c.worst_path.unwrap();
            let cn = problem.connection(w);
            println!(
                "  conn {cn} rate {} paths {:?}",
                c.levels[cn],
                problem.paths_of(cn).iter().map(|&p| a.path_rates[p as usize]).collect::<Vec<_>>()
            );
            for &l in problem.links_of(w) {
                println!("   link {l} cap {} load {}", problem.capacity(l as usize), c.loads[l as usize]);
                for p in 0..problem.paths() {
                    if problem.links_of(p).contains(&l) {
                        println!(
                            "       path {p} conn {} x {} level {}",
                            problem.connection(p),
                            a.path_rates[p],
                            c.levels[problem.connection(p)]
                        );
                    }
                }
            }
        }
        if met {
            break;
        }
    }
}
#[test]
fn dbg635() {
    let problem = problem(635, RICH);
    let a = anabranch_fair::global_max_min(&problem);
    let c = certify(&problem, &a.path_rates, 1e-6);
    let w = c.worst_path.unwrap();
    let cn = problem.connection(w);
    println!(
        "conn {cn} level {} rate {} w {} residual {}",
        c.levels[cn],
        a.connection_rates[cn],
        problem.weight(cn),
        c.residual
    );
    for (l, co) in problem.uses_of(w) {
        println!("   link {l} cap {} load {} co {co}", problem.capacity(l), c.loads[l]);
        for p in 0..problem.paths() {
            if problem.links_of(p).contains(&(l as u32)) {
                println!(
                    "       path {p} conn {} x {} level {}",
                    problem.connection(p),
                    a.path_rates[p],
                    c.levels[problem.connection(p)]
                );
            }
        }
    }
}
#[test]
fn dbgcount() {
    for seed in 0..3000 {
        let problem = problem(seed, if seed % 2 == 0 { PLAIN } else { RICH });
        let c = certify(&problem, &anabranch_fair::global_max_min(&problem).path_rates, 1e-6);
        if !c.holds() {
            println!("global {seed} {}", c.residual);
        }
    }
    for seed in 0..2000 {
        let problem = problem(seed, if seed % 2 == 0 { PLAIN } else { RICH });
        let mut solver = CSlen::new(Arc::clone(&problem), &Start::Equal).unwrap();
        if !solver.run(Stop::Certificate(1e-2), 3000) {
            let c = certify(&problem, &solver.allocation(false, 1e-2).path_rates, 1e-2);
            println!("cslen {seed} {}", c.residual);
        }
    }
}
