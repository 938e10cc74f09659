//! The twin does what it is said to do: the calls that plain cudarc makes for the rounds, on the stand-in for the driver.

#![cfg(target_os = "linux")]

#[path = "../../../host/tests/stand_in/mod.rs"]
mod stand_in;

use std::collections::HashMap;

use reservation::{KERNELS, Size, plain};
use stand_in::{Driver, asked, with};

#[test]
fn cudarc_lets_the_writer_wait_for_the_quick_reader_only() {
    let test = "cudarc_lets_the_writer_wait_for_the_quick_reader_only";
    with(Driver::StandIn, &[], test, || {
        let code = KERNELS.binary("sm_90a").expect("it is built for this");
        let size = Size { rounds: 3, elements: 300, pauses: 7 };
        let log = asked(|| {
            // The stand-in's kernels do nothing, so nothing is counted.
            assert_eq!(plain::run(0, code, size).expect("it runs").wrong, 0);
        });
        println!("{}", log.join("\n"));

        let stream_of = |beginning: &str| -> Vec<&str> {
            let lines = log.iter().filter(|line| line.starts_with(beginning));
            lines.filter_map(|line| line.rsplit(' ').next()).collect()
        };
        let writer = stream_of("write 300 words, round 0, 4 x 128 on")[0];
        let slow = stream_of("read 300 words, round 0, 7 pauses, 4 x 128 on")[0];
        let quick = stream_of("read 300 words, round 0, 0 pauses, 4 x 128 on")[0];
        assert_eq!(stream_of("write 300 words").len(), 3, "{log:#?}");
        assert!(writer != slow && slow != quick && quick != writer);

        // Whom the writer waits for before the second round, by where each event was recorded last.
        let mut recorded = HashMap::new();
        let mut waits = Vec::new();
        for line in &log {
            if line.starts_with("write 300 words, round 1,") {
                break;
            } else if line.starts_with("write 300 words, round 0,") {
                waits.clear();
            }
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["record", event, "on", stream] => {
                    recorded.insert(event, stream);
                }
                [stream, "waits", "for", event] if stream == writer => {
                    waits.extend(recorded.get(event).copied());
                }
                _ => {}
            }
        }
        assert!(waits.contains(&quick), "{log:#?}");
        assert!(!waits.contains(&slow), "cudarc orders this now: {log:#?}");
    });
}
