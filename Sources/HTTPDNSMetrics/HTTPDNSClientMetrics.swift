// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if Metrics
public import HTTPDNS
public import HTTPDNSCore
package import HTTPDNSPrimitives
public import Metrics
internal import Synchronization

/// An exporter of all metrics of a client to swift-metrics: its calls, requests and connections, and those of its resolver
/// that ``HTTPDNSResolverMetrics`` exports. Docs/Observability.md has the names.
///
/// ```swift
/// await HTTPDNSClientMetrics(client).run()
/// ```
///
/// Calls are exported when they end, by an observer of the client: none is missed. That happens in the tasks that end them, so
/// the metrics of the factory must not block. Counters and states are exported at an
/// interval and once more at the end. No label is a host name unless it is listed, and the number of series is bounded.
///
/// Several clients of a process need names: without them they set the same meters, and only the value of the last one is seen.
public final class HTTPDNSClientMetrics: Sendable {
    private let client: HTTPDNSClient
    private let resolver: HTTPDNSResolverMetrics
    private let requests: RequestExport
    private let isRunning = Atomic(false)
    /// The observation of calls while there is one.
    private let observation = Lock<HTTPDNSClient.Observation?>(nil)

    /// Creates an exporter; ``run()`` starts it. Until then it costs nothing.
    /// - Parameters:
    ///   - client: The source.
    ///   - name: The value of the dimension `httpdns.client` of all series, such as `payment`. Without a name, which is the
    ///     default, no series has this dimension. Names are from a closed set: each has series of its own.
    ///   - factory: The destination; by default the process's own factory.
    ///   - hosts: The hosts whose requests have `server.address` and `server.port` in their dimensions. Requests to others then
    ///     have the address `_OTHER`. Without hosts, which is the default, no request has these dimensions.
    ///   - interval: The interval at which counters and states are exported; less than a millisecond counts as a millisecond.
    public convenience init(
        _ client: HTTPDNSClient,
        name: String? = nil,
        factory: any MetricsFactory = MetricsSystem.factory,
        hosts: Set<HTTPDNSName> = [],
        interval: Duration = .seconds(10)
    ) {
        let time = SystemTimeSource()
        self.init(client, name: name, factory: factory, hosts: hosts, interval: interval, timeSource: time)
    }

    /// - Parameter timeSource: The clock of the interval.
    package init(
        _ client: HTTPDNSClient,
        name: String?,
        factory: any MetricsFactory,
        hosts: Set<HTTPDNSName>,
        interval: Duration,
        timeSource: any TimeSource
    ) {
        let handles = MetricHandles(factory: factory, client: name)
        let requests = RequestExport(handles, of: client, hosts: hosts)
        self.client = client
        self.requests = requests
        resolver = HTTPDNSResolverMetrics(client.resolver, handles, interval: interval, timeSource: timeSource) {
            requests.add(client)
        }
    }

    /// Exports the calls that begin from now on, until the client is shut down or the task is canceled.
    ///
    /// While it runs, a second call returns immediately.
    public func run() async {
        guard !isRunning.exchange(true, ordering: .acquiringAndReleasing) else { return }
        client.keepClosedConnections()
        defer {
            client.dropClosedConnections()
            isRunning.store(false, ordering: .releasing)
        }
        if observation.withLock({ $0 }) == nil {
            requests.begin()
            let begun = client.addObserver(requests)
            observation.withLock { $0 = begun }
        }
        await resolver.run()
        // After a shutdown the observer stays: calls whose bodies were still being read end a moment later.
        guard Task.isCancelled else { return }
        let ended = observation.withLock { observation in
            defer { observation = nil }
            return observation
        }
        ended?.stop()
    }
}
#else
public import HTTPDNS

/// Not available in this build.
@available(*, unavailable, message: "metrics need the trait Metrics of the package swift-httpdns")
public final class HTTPDNSClientMetrics: Sendable {
    // Without it the compiler would report an initializer that is internal, and not the trait.
    /// Not available in this build.
    public init(
        _ client: HTTPDNSClient,
        name: String? = nil,
        factory: (any Sendable)? = nil,
        hosts: Set<HTTPDNSName> = [],
        interval: Duration = .zero
    ) {}
}
#endif
