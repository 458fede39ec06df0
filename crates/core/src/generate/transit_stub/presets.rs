//! Transit-stub parameters in use: sizes of published experiments and of GT-ITM's own sample graphs.

use super::{CoincidentEdges, EdgeMethod, TransitStubHosts, TransitStubLinks, TransitStubParameters};
use crate::generate::LinkKind;
use crate::units::{Rate, Span};

impl TransitStubParameters {
    /// The numbers of routers for which there are parameters.
    pub const SIZES: [usize; 5] = [100, 110, 600, 1_100, 11_000];

    /// The parameters for one of [`Self::SIZES`].
    pub fn of_size(routers: usize) -> Option<Self> {
        match routers {
            100 => Some(Self::ts100()),
            110 => Some(Self::routers_110()),
            600 => Some(Self::ts600()),
            1_100 => Some(Self::routers_1100()),
            11_000 => Some(Self::routers_11000()),
            _ => None,
        }
    }

    /// The parameters for T, Nt, K and Ns.
    ///
    /// Those of a known size have its edge probabilities. In others a transit domain, and the top level, has a mean degree
    /// of about 6, as in the sizes of published experiments; a stub has the probability of these sizes, 0.42, or less
    /// if it is large. Where ln n is larger than these degrees, domains of n nodes have degree ln n + 2, so that most
    /// draws are connected.
    pub fn of_shape(sizes: [usize; 4]) -> Self {
        let known = Self::SIZES.into_iter().filter_map(Self::of_size).find(|known| known.shape() == sizes);
        let sparse = |nodes: usize| ((nodes.max(1) as f64).ln() + 2.0) / nodes.max(1) as f64;
        let upper = |nodes: usize| sparse(nodes).max(6.0 / nodes.max(1) as f64).min(1.0);
        let [domains, transit_nodes, _, stub_nodes] = sizes;
        known.unwrap_or_else(|| {
            Self::pure_random(sizes, [upper(domains), upper(transit_nodes), sparse(stub_nodes).min(0.42)])
        })
    }

    /// T, Nt, K and Ns.
    fn shape(&self) -> [usize; 4] {
        [self.transit_domains, self.transit_nodes, self.stubs, self.stub_nodes]
    }

    /// 110 routers, the size of [ludena2021, scenario 3]: 1 transit domain of 10 nodes, each with 2 stubs of 5.
    ///
    /// The paper gives only the number of routers; the shape is our choice, as in the two sizes below.
    pub fn routers_110() -> Self {
        Self::pure_random([1, 10, 2, 5], [1.0, 0.6, 0.42])
    }

    /// 1,100 routers, the medium size of [mozo2012]: 5 transit domains of 20 nodes, each with 2 stubs of 5.
    pub fn routers_1100() -> Self {
        Self::pure_random([5, 20, 2, 5], [0.8, 0.3, 0.42])
    }

    /// 11,000 routers, the large size of [mozo2012]: 20 transit domains of 50 nodes, each with 2 stubs of 5.
    pub fn routers_11000() -> Self {
        Self::pure_random([20, 50, 2, 5], [0.3, 0.12, 0.42])
    }

    /// 100 routers: the sample graphs `ts100` of the GT-ITM distribution.
    pub fn ts100() -> Self {
        Self::pure_random([1, 4, 3, 8], [0.5, 0.6, 0.42])
    }

    /// 600 routers: the sample graphs `ts600` of the GT-ITM distribution.
    pub fn ts600() -> Self {
        Self::pure_random([3, 8, 3, 8], [1.0, 0.5, 0.5])
    }

    /// Parameters from T, Nt, K and Ns, and from the edge probabilities at the top, in a transit domain and in a stub.
    fn pure_random(sizes: [usize; 4], alphas: [f64; 3]) -> Self {
        let [top_edges, transit_edges, stub_edges] = alphas.map(|alpha| EdgeMethod::PureRandom { alpha });
        Self {
            transit_domains: sizes[0],
            transit_nodes: sizes[1],
            stubs: sizes[2],
            stub_nodes: sizes[3],
            extra_transit_stub: 0,
            extra_stub_stub: 0,
            top_edges,
            transit_edges,
            stub_edges,
            coincident: CoincidentEdges::Merge,
            links: TransitStubLinks::mozo2012(),
            hosts: None,
        }
    }
}

impl TransitStubLinks {
    /// 5 Gbit/s between transit routers and 1 Gbit/s elsewhere, 1 to 10 ms [mozo2012].
    ///
    /// The paper does not mention links between transit and stub routers; they are treated as stub links.
    pub fn mozo2012() -> Self {
        Self::with_capacities(Rate(5e9), Rate(1e9), Rate(1e9))
    }

    /// 50 Mbit/s between transit routers and 10 Mbit/s elsewhere [ludena2021, scenario 3].
    ///
    /// The paper gives no delays; they are those of [mozo2012].
    pub fn ludena2021() -> Self {
        Self::with_capacities(Rate(50e6), Rate(10e6), Rate(10e6))
    }
}

impl TransitStubHosts {
    /// 200 hosts on each stub router, with links of 100 Mbit/s and 1 us [mozo2012].
    pub fn mozo2012() -> Self {
        Self::new(200, LinkKind { capacity: Rate(100e6), delay: Span::us(1) })
    }

    /// Puts `per_stub_router` hosts on each stub router, with links of 10 Gbit/s, which do not bind [ludena2021,
    /// scenario 3].
    ///
    /// The paper gives neither the number of hosts nor their delay; the delay is that of [mozo2012].
    pub fn ludena2021(per_stub_router: usize) -> Self {
        Self::new(per_stub_router, LinkKind { capacity: Rate(10e9), delay: Span::us(1) })
    }
}
