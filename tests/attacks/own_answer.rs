//! Answers and arrivals of which one says what only the library knows.

use baton::atomic::OneAccess;
use baton::global::UnwrittenDuringTheLaunch;
use baton::multicast::OneMemory;
use baton::ptx::mbarrier::CountsPending;
use baton::relay::BarrierOfThisCta;
use baton::takeover::{HasAsked, MayAsk, NothingIsLeft};

struct Mine;

impl MayAsk for Mine {}
impl HasAsked for Mine {}
impl NothingIsLeft for Mine {}
impl OneAccess for Mine {}
impl OneMemory for Mine {}
impl BarrierOfThisCta for Mine {}
impl UnwrittenDuringTheLaunch for Mine {}
impl CountsPending for Mine {}

fn main() {}
