//! Thread fences and proxy fences.

use super::super::LitmusError;
use super::{Qualifiers, Reader};
use crate::program::{Half, Op, Order, Proxy, ProxyFence, Semantics, Window};
use crate::scope::Scope;

pub(super) fn fence(
    q: &mut Qualifiers<'_>,
    reader: &mut Reader<'_, '_, '_>,
) -> Result<Op, LitmusError> {
    if q.take("mbarrier_init") {
        return match q.take("release") && q.take("cluster") {
            true => Ok(Op::InitFence),
            false => Err(q.error("`fence.mbarrier_init.release.cluster`")),
        };
    }
    let restricted = q.find(|word| word.strip_prefix("sync_restrict::").map(str::to_owned));
    if q.take("proxy") {
        return proxy_fence(q, reader, restricted.as_deref());
    }
    let Some(restricted) = restricted else {
        let default = Order { semantics: Semantics::AcqRel, scope: Scope::Sys };
        if !q.words.iter().any(|word| Scope::named(word).is_some()) {
            return Err(q.error("a fence with its scope, such as `fence.acq_rel.gpu`"));
        }
        let order = q.order(default, &["sc", "acq_rel", "acquire", "release"])?;
        return Ok(Op::Fence(order, None));
    };
    let releases = restricted_half(q, &restricted)?;
    let (semantics, window) = match releases {
        true => (Semantics::Release, Window::SharedCta),
        false => (Semantics::Acquire, Window::SharedCluster),
    };
    Ok(Op::Fence(Order { semantics, scope: Scope::Cluster }, Some(window)))
}

/// `.release.sync_restrict::shared::cta.cluster` or `.acquire.sync_restrict::shared::cluster.cluster`,
/// PTX has no others; whether it is the first.
fn restricted_half(q: &mut Qualifiers<'_>, restricted: &str) -> Result<bool, LitmusError> {
    let releases = restricted == "shared::cta" && q.take("release");
    let legal = releases || restricted == "shared::cluster" && q.take("acquire");
    if !legal || !q.take("cluster") {
        return Err(q.error(
            "`.release.sync_restrict::shared::cta.cluster` or `.acquire.sync_restrict::shared::cluster.cluster`",
        ));
    }
    Ok(releases)
}

fn proxy_fence(
    q: &mut Qualifiers<'_>,
    reader: &mut Reader<'_, '_, '_>,
    restricted: Option<&str>,
) -> Result<Op, LitmusError> {
    let kinds = "fence.proxy of alias, async, async::generic, tensormap::generic, surface, texture or constant";
    let kind = q.find(|word| {
        Some(match word {
            "alias" => ProxyFence::Alias,
            "async" => ProxyFence::Both(Proxy::Async, None),
            "surface" => ProxyFence::Both(Proxy::Surface, None),
            "texture" => ProxyFence::Both(Proxy::Texture, None),
            "constant" => ProxyFence::Both(Proxy::Constant, None),
            "async::generic" => ProxyFence::Half(half(Proxy::Async)),
            "tensormap::generic" => ProxyFence::Half(half(Proxy::TensorMap)),
            _ => return None,
        })
    });
    let (fence, about) = match (kind.ok_or_else(|| q.error(kinds))?, restricted) {
        (ProxyFence::Half(Half { to: Proxy::Async, .. }), Some(restricted)) => {
            let reads = restricted == "shared::cluster::read";
            let (releases, window) = if reads {
                if !q.take("release") || !q.take("cluster") {
                    return Err(q.error("`.release.sync_restrict::shared::cluster::read.cluster`"));
                }
                (true, Window::SharedCluster)
            } else if restricted_half(q, restricted)? {
                (true, Window::SharedCta)
            } else {
                (false, Window::SharedCluster)
            };
            let half = Half { releases, window: Some(window), reads, ..half(Proxy::Async) };
            (ProxyFence::Half(half), None)
        }
        (ProxyFence::Half(Half { to: Proxy::Async, .. }), None) => {
            return Err(q.error("`.sync_restrict::…` with `fence.proxy.async::generic`"));
        }
        (_, Some(_)) => {
            return Err(q.error("`.sync_restrict` on `fence.proxy.async::generic` only"));
        }
        (ProxyFence::Half(mut half), None) => {
            half.releases = q.take("release");
            if !half.releases && !q.take("acquire") {
                return Err(q.error("`.release.SCOPE` or `.acquire.SCOPE`"));
            }
            half.scope = q.scope().ok_or_else(|| q.error("a scope"))?;
            (ProxyFence::Half(half), if half.releases { None } else { Some(reader.map()?) })
        }
        (ProxyFence::Both(Proxy::Async, _), None) => {
            let window = q.windows.pop();
            (ProxyFence::Both(Proxy::Async, window), None)
        }
        // `fence.proxy.alias` with a half of its own would be less than the whole.
        (whole, None) => (whole, None),
    };
    Ok(Op::ProxyFence(fence, about))
}

/// The half of a one-way fence, to be completed.
fn half(to: Proxy) -> Half {
    Half { to, releases: false, scope: Scope::Cluster, window: None, reads: false }
}
