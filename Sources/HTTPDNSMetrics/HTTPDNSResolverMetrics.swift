// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if Metrics
public import HTTPDNSCore
package import HTTPDNSPrimitives
internal import Synchronization
public import Metrics

/// An exporter of a resolver's counters and lookups to swift-metrics, under the names in Docs/Observability.md.
///
/// Counters are exported as differences, at an interval and once more at the end; the duration of each lookup is exported
/// immediately. No label is a host name: the settings bound the number of series.
///
/// For a client use ``HTTPDNSClientMetrics``, which exports its requests and connections as well.
public final class HTTPDNSResolverMetrics: Sendable {
    /// The number of events that are buffered. Lookups beyond it are missing in `dns.lookup.duration`, and are counted in
    /// `httpdns.events.missed`.
    package static let bufferLimit = 4096

    private let resolver: HTTPDNSResolver
    private let interval: Duration
    private let timeSource: any TimeSource
    private let isRunning = Atomic(false)
    private let export: MetricExport
    /// Exports more at each interval.
    private let exportMore: @Sendable () -> Void

    /// Creates an exporter; ``run()`` starts it.
    /// - Parameters:
    ///   - resolver: The source.
    ///   - factory: The destination; by default the process's own factory.
    ///   - interval: The interval at which counters are exported; less than a millisecond counts as a millisecond.
    public convenience init(
        _ resolver: HTTPDNSResolver,
        factory: any MetricsFactory = MetricsSystem.factory,
        interval: Duration = .seconds(10)
    ) {
        self.init(resolver, factory: factory, interval: interval, timeSource: SystemTimeSource())
    }

    /// - Parameter timeSource: The clock of the interval.
    package convenience init(
        _ resolver: HTTPDNSResolver,
        factory: any MetricsFactory,
        interval: Duration,
        timeSource: any TimeSource
    ) {
        self.init(resolver, MetricHandles(factory: factory), interval: interval, timeSource: timeSource) {}
    }

    init(
        _ resolver: HTTPDNSResolver,
        _ handles: MetricHandles,
        interval: Duration,
        timeSource: any TimeSource,
        exportMore: @escaping @Sendable () -> Void
    ) {
        self.resolver = resolver
        self.interval = max(interval, .milliseconds(1))
        self.timeSource = timeSource
        self.exportMore = exportMore
        export = MetricExport(handles)
    }

    /// Exports until the resolver is shut down or the task is canceled, and then once more.
    ///
    /// While it runs, a second call returns immediately. The first export, at the beginning, contains the counts up to then.
    public func run() async {
        guard !isRunning.exchange(true, ordering: .acquiringAndReleasing) else { return }
        defer { isRunning.store(false, ordering: .releasing) }
        // Listening begins before the first export, so that no event is missed in between.
        var events = resolver.events.buffered(upTo: HTTPDNSResolverMetrics.bufferLimit).makeAsyncIterator()
        await exportAll()
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                var due = self.timeSource.now() + self.interval
                while (try? await self.timeSource.sleep(until: due)) != nil {
                    await self.exportAll()
                    due = self.timeSource.now() + self.interval
                }
            }
            while let event = await events.next() { await export.add(event) }
            group.cancelAll()
        }
        await exportAll()
    }

    private func exportAll() async {
        await export.add(resolver.counters)
        await export.add(resolver.status)
        exportMore()
    }
}
#else
public import HTTPDNSCore

/// Not available in this build.
@available(*, unavailable, message: "metrics need the trait Metrics of the package swift-httpdns")
public final class HTTPDNSResolverMetrics: Sendable {
    // Without it the compiler would report an initializer that is internal, and not the trait.
    /// Not available in this build.
    public init(
        _ resolver: HTTPDNSResolver,
        factory: (any Sendable)? = nil,
        interval: Duration = .zero
    ) {}
}
#endif
