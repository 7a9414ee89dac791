internal import HTTPDNSCore
internal import HTTPDNSPrimitives

extension SettingsReader {
    /// The limits for the wait for one provider before the next one is queried too; zero queries it immediately.
    package static let hedging: ClosedRange<Duration> = .zero...(.seconds(60))
    /// The limits for the time of one query, and of one resolution. Callers have given up long before ten minutes.
    package static let resolving: ClosedRange<Duration> = .milliseconds(1)...(.seconds(600))
    /// The limits for the threads of the system path. Each has a stack of 512 KiB.
    package static let systemThreads = 1...HTTPDNSResolver.Configuration.maximumSystemThreads

    mutating func readResolver(_ node: ConfigurationNode, into settings: inout FileSettings) {
        guard let fields = fields(of: node, .resolver, path: "resolver") else { return }
        settings.families = fields["families"].flatMap { families(of: $0, path: "resolver.families") }
        if let node = fields["internal_zones"] {
            settings.internalZones = readNames(node, path: "resolver.internal_zones")
        }
        settings.hedgeAfter = fields["hedge_after"].flatMap {
            duration(of: $0, in: Self.hedging, path: "resolver.hedge_after")
        }
        settings.attemptLimit = fields["attempt"].flatMap {
            duration(of: $0, in: Self.resolving, path: "resolver.attempt")
        }
        settings.timeLimit = fields["total"].flatMap { duration(of: $0, in: Self.resolving, path: "resolver.total") }
        settings.systemThreads = fields["system_threads"].flatMap {
            number(of: $0, in: Self.systemThreads, path: "resolver.system_threads")
        }
        if let attempt = settings.attemptLimit, let total = settings.timeLimit, attempt > total {
            mistakes.add(
                "resolver: attempt (\(DurationText.write(attempt))) is above total (\(DurationText.write(total)))",
                at: fields["attempt"]?.position,
                hint: "one query is never waited for longer than total"
            )
        }
    }
}
