use baton_gates::foreign;
use baton_gates::surface::Surface;
#[test]
fn foreign_impls() {
    let s = Surface::read();
    let cases = foreign::cases(&s);
    println!("{} cases", cases.len());
    let o = foreign::judge(&cases);
    println!("{} tried, {} traits, {} rounds, open {}", o.tried, o.traits, o.rounds, o.open.len());
    let mut t = String::new();
    for h in o.open.keys() { t += h; t += "\n"; }
    std::fs::write("/tmp/g/open.txt", t).unwrap();
}
