use baton_gates::foreign;
use baton_gates::surface::{Library, Surface};
#[test]
fn foreign_impls() {
    let s = Surface::read(&Library::baton());
    let cases = foreign::cases(&s);
    println!("{} cases", cases.len());
    let o = foreign::judge(&Library::baton(), &cases);
    println!("{} tried, {} traits, {} rounds, open {}", o.tried, o.traits, o.rounds, o.open.len());
    let mut t = String::new();
    for h in o.open.keys() { t += h; t += "\n"; }
    std::fs::write("/tmp/g/open.txt", t).unwrap();
}
#[test]
fn constructors() {
    let s = Surface::read(&Library::baton());
    let o = baton_gates::constructors::search(&s);
    println!("{} functions, {} makers, {} findings", o.functions, o.makers, o.findings.len());
    let mut t = String::new();
    for (h, l) in &o.findings { t += h; t += "   @"; t += l; t += "\n"; }
    std::fs::write("/tmp/g/made.txt", t).unwrap();
}
#[test]
fn copies() {
    let s = Surface::read(&Library::baton());
    let o = baton_gates::copies::search(&s);
    println!("{} types {} findings", o.types, o.findings.len());
    let mut t = String::new();
    for (h, l) in &o.findings { t += h; t += "   @"; t += l; t += "\n"; }
    std::fs::write("/tmp/g/copies.txt", t).unwrap();
}
