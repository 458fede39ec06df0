//! Values that one can work out in the head, and mistakes with their places.

use proptest::prelude::*;

use super::{Formula, Variable};

/// Windows, round trips and base round trips of three subflows.
const FLOWS: [(f64, f64, f64); 3] = [(10.0, 0.1, 0.05), (20.0, 0.4, 0.2), (4.0, 0.2, 0.2)];

fn of(variable: Variable, subflow: usize) -> f64 {
    let (window, rtt, base_rtt) = FLOWS[subflow];
    match variable {
        Variable::Window => window,
        Variable::Rtt => rtt,
        Variable::BaseRtt => base_rtt,
        Variable::Rate => window / rtt,
        Variable::Since => 3.0,
        Variable::LostAt => 16.0,
        Variable::Silent => f64::from(u8::from(subflow == 2)),
    }
}

fn value(text: &str) -> f64 {
    let formula = Formula::new(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    formula.value(0, &(0..FLOWS.len()), of)
}

fn mistake(text: &str) -> String {
    Formula::new(text).expect_err(text).to_string()
}

fn assert_value(text: &str, wanted: f64) {
    assert!((value(text) - wanted).abs() < 1e-12, "{text} is {}, and not {wanted}", value(text));
}

#[test]
fn arithmetic_binds_as_on_paper() {
    assert_value("1 + 2 * 3", 7.0);
    assert_value("10 - 3 - 2", 5.0);
    assert_value("100 / 5 / 2", 10.0);
    assert_value("-2 ^ 2", -4.0);
    assert_value("2^3^2", 512.0);
    assert_value("2 ^ -1", 0.5);
    assert_value("(1 + 2) * -(3)", -9.0);
    assert_value(" .5+1.e1 + 2E-1", 10.7);
    assert_value("1 + 1 < 3", 1.0);
    assert_value("(2 >= 3) + (2 <= 2) + (3 > 2)", 2.0);
}

#[test]
fn functions_have_their_usual_values() {
    assert_value("min(3, 1, 2) + max(3, 1, 2)", 4.0);
    assert_value("sqrt(16) + cbrt(-27) + abs(-2)", 3.0);
    assert_value("exp(ln(5)) + log2(8)", 8.0);
    assert_value("if(window > 9, 1, 2) + if(window - 10, 10, 20)", 21.0);
    // What is not a number is not over 0.
    assert_value("if(0 / 0, 1, 2)", 2.0);
    for text in ["min(0 / 0, 1)", "min(1, 0 / 0)", "max(0 / 0, 1)", "max(1, 0 / 0)", "largest(0 / 0)", "sqrt(-1)"] {
        assert!(value(text).is_nan(), "{text}");
    }
}

#[test]
fn variables_are_those_of_the_subflow() {
    assert_value("window + rtt + base_rtt + rate + since + lost_at + silent", 129.15);
}

#[test]
fn sums_and_extremes_are_over_all_subflows() {
    assert_value("sum(window)", 34.0);
    assert_value("largest(rate) + smallest(rate)", 120.0);
    assert_value("flows + sum(silent)", 4.0);
    // Of 10 / 0.01, 20 / 0.16 and 4 / 0.04 the first is largest; rates are 100, 50 and 20.
    assert_value("34 * largest(window / rtt^2) / sum(rate)^2", 34.0 * 1000.0 / (170.0 * 170.0));
    // How many windows are largest: a value over all within another.
    assert_value("sum(window >= largest(window))", 1.0);
    assert_value("sum(window / sum(window))", 1.0);
}

#[test]
fn only_sums_and_extremes_couple() {
    assert!(!Formula::new("min(1 / window, rtt)").unwrap().couples());
    assert!(Formula::new("1 / flows").unwrap().couples() && Formula::new("largest(rtt)").unwrap().couples());
}

#[test]
fn a_mistake_has_its_place_and_what_would_do() {
    let variables = "there are window, rtt, base_rtt, rate, since, lost_at, silent, flows";
    let said = [
        ("", "character 1 of the formula: a number, a name or `(` is missing at the end".to_owned()),
        ("1 /", "character 4 of the formula: a number, a name or `(` is missing at the end".to_owned()),
        (
            "1 / windw",
            format!("character 5 of the formula: there is no variable `windw` (did you mean `window`?); {variables}"),
        ),
        (
            "1 / total(window)",
            "character 5 of the formula: there is no function `total`; there are sum, largest, smallest, min, max, if, \
             sqrt, cbrt, exp, ln, log2, abs"
                .to_owned(),
        ),
        ("µ", format!("character 1 of the formula: there is no variable `µ`; {variables}")),
        ("1 / sum", "character 5 of the formula: `sum` is a function; write its values in brackets: `sum(...)`".into()),
        (
            "rtt(1)",
            "character 1 of the formula: `rtt` is a variable; write an operator such as `*` before `(`".into(),
        ),
        ("window**2", "character 8 of the formula: write a power as `window^2`".into()),
        ("2 window", "character 3 of the formula: an operator such as `*` is missing before `w`".into()),
        ("(1 + 2", "character 1 of the formula: this `(` is not closed".into()),
        ("1 + 2)", "character 6 of the formula: there is no `(` for this `)`".into()),
        ("1 < 2 < 3", "character 7 of the formula: there is a comparison already; put it in brackets".into()),
        ("if(1, 2)", "character 1 of the formula: `if` takes 3 values; here it has 2".into()),
        ("min(1)", "character 1 of the formula: `min` takes 2 values or more; here it has 1".into()),
        ("sqrt(1, 2)", "character 1 of the formula: `sqrt` takes one value; here it has 2".into()),
        ("1 ; 2", "character 3 of the formula: `;` is unknown here; operators are + - * / ^ < <= > >=".into()),
        ("1e999", "character 1 of the formula: this number is too large".into()),
        ("é + 1, 2", format!("character 1 of the formula: there is no variable `é`; {variables}")),
        ("1, 2", "character 2 of the formula: a `,` separates the values of a function, within its brackets".into()),
    ];
    for (text, wanted) in said {
        assert_eq!(mistake(text), wanted, "{text}");
    }
}

#[test]
fn formulas_are_limited() {
    let nested = |depth: usize| format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
    assert_value(&nested(32), 1.0);
    assert!(mistake(&nested(33)).contains("character 34 of the formula: there are more than 32 brackets"));
    assert!(mistake(&"-".repeat(900)).contains("more than 32 brackets and signs"));
    assert!(mistake(&format!("1{}", "+1".repeat(500))).contains("it has 1001 characters; it may have 1000"));
    assert_value(&format!("1{}", "+1".repeat(499)), 500.0);
    assert!(mistake(&format!("max({}1)", "1,".repeat(40))).contains("more than 32 values"));
    assert_value(&vec!["flows"; 16].join("+"), 48.0);
    assert!(mistake(&vec!["flows"; 17].join("+")).contains("more than 16 values over all subflows"));
}

#[test]
fn numbers_are_formulas_too_and_text_is_kept() {
    let read = |json: &str| serde_json::from_str::<Formula>(json);
    assert_eq!(read("0.01").unwrap().text(), "0.01");
    assert_eq!(read("-1").unwrap().text(), "-1");
    assert_eq!(serde_json::to_string(&read("\" 1/window \"").unwrap()).unwrap(), "\" 1/window \"");
    let said = read("true").unwrap_err().to_string();
    assert!(said.contains("expected a formula in quotes, such as \"1 / window\", or a number"), "{said}");
}

/// Text that is often nearly a formula.
fn nearly() -> impl Strategy<Value = String> {
    let words = [
        "1", "2.5", "1e3", "window", "rtt", "since", "flows", "sum(", "largest(", "min(", "if(", "ln(", "(", ")", ",",
        "+", "-", "*", "/", "^", "<", ">=", " ", "é",
    ];
    prop::collection::vec(prop::sample::select(words.to_vec()), 0..60).prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_text_makes_it_panic(text in prop_oneof![any::<String>(), ".{0,1200}", nearly()]) {
        match Formula::new(&text) {
            Ok(formula) => drop(formula.value(0, &(0..FLOWS.len()), of)),
            Err(error) => {
                prop_assert!((1..=text.chars().count() + 1).contains(&error.character), "{error}");
                prop_assert!(error.to_string().chars().count() < 300, "{error}");
            }
        }
    }
}
