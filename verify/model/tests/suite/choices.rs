//! Where the text leaves room: the readings that are offered, and what they change.

use baton_model::litmus::Test;
use baton_model::options::{ProxyFencePlace, Tcgen05Fence};
use baton_model::{Choices, Options, judge};

use crate::corpus;

fn allowed(file: &str, choices: Choices) -> bool {
    let text = std::fs::read_to_string(corpus::root().join(file)).expect("a file of the corpus");
    let test = Test::parse(&text, file).expect("a litmus test");
    judge(&test.program, &test.condition, &Options { choices, ..Options::default() })
        .expect("a verdict")
        .allowed
}

#[test]
fn a_proxy_fence_across_blocks() {
    let place = |proxy_fence| Choices { proxy_fence, ..Choices::default() };
    let (writer, reader) =
        ("proxies/B1_cluster_fence_writer.litmus", "proxies/B1_cluster_fence_reader.litmus");
    for (choice, before, after) in [
        (ProxyFencePlace::Block, true, false),
        (ProxyFencePlace::Anywhere, false, false),
        (ProxyFencePlace::Nowhere, true, true),
    ] {
        assert_eq!(
            allowed(writer, place(choice)),
            before,
            "{choice:?}: before the cluster barrier"
        );
        assert_eq!(allowed(reader, place(choice)), after, "{choice:?}: after the cluster barrier");
    }
}

#[test]
fn tensor_fences_behind_what_was_waited_for() {
    let fence = |tcgen05_fence| Choices { tcgen05_fence, ..Choices::default() };
    for (file, always, uncompleted) in [
        ("tcgen05/D1_no_after.litmus", true, false),
        ("tcgen05/D2_no_before.litmus", true, false),
        ("tcgen05/D3_no_wait.litmus", true, true),
        ("tcgen05/D1_commit_after.litmus", false, false),
    ] {
        assert_eq!(allowed(file, fence(Tcgen05Fence::Always)), always, "{file}");
        assert_eq!(allowed(file, fence(Tcgen05Fence::Uncompleted)), uncompleted, "{file}");
    }
}
