public import HTTPDNSCore
public import HTTPDNSPrimitives

/// The contract of `HTTPDNSProvider`, as checks that every provider has to pass. It belongs to no test framework:
///
/// ```swift
/// let violations = await ProviderCompatibility(fixture).violations()
/// #expect(violations.isEmpty)
/// ```
public struct ProviderCompatibility: Sendable {
    /// A provider and what its service is known to answer.
    public struct Fixture: Sendable {
        /// Makes a provider that nobody else uses. Each check makes its own, and shuts it down.
        public var makeProvider: @Sendable () async throws -> any HTTPDNSProvider
        /// A name with addresses of both families.
        public var dualStackName: HTTPDNSName
        /// Its addresses, in any order.
        public var dualStackAddresses: [HTTPDNSAddress]
        /// A name with IPv4 addresses only.
        public var v4OnlyName: HTTPDNSName
        /// A name that does not exist.
        public var unknownName: HTTPDNSName
        /// A name about which the service keeps silent for at least a minute. Nil for a provider that waits for nothing, such
        /// as a table: then the rules about time limits, cancellation and shutdown are left out.
        public var silentName: HTTPDNSName?
        /// Whether queries end by themselves at their time limit. If not, they end when their task is cancelled, as the
        /// resolver does at the limit.
        public var keepsTimeLimits = true
        /// Whether the service can say that a name does not exist. Where it cannot, such a name has no addresses.
        public var tellsNameErrors = true
        /// How long a query about names that are answered may take.
        public var timeLimit: Duration = .seconds(5)
        /// The time limit of the query that is meant to run into it.
        public var shortTimeLimit: Duration = .milliseconds(200)
        /// How long after a time limit, a cancellation or a shutdown a query may still take on a busy machine.
        public var patience: Duration = .seconds(10)

        /// Creates a fixture with the limits above.
        public init(
            dualStackName: HTTPDNSName,
            dualStackAddresses: [HTTPDNSAddress],
            v4OnlyName: HTTPDNSName,
            unknownName: HTTPDNSName,
            silentName: HTTPDNSName?,
            makeProvider: @escaping @Sendable () async throws -> any HTTPDNSProvider
        ) {
            self.makeProvider = makeProvider
            self.dualStackName = dualStackName
            self.dualStackAddresses = dualStackAddresses
            self.v4OnlyName = v4OnlyName
            self.unknownName = unknownName
            self.silentName = silentName
        }
    }

    /// One rule that a provider broke.
    public struct Violation: Hashable, Sendable, CustomStringConvertible {
        /// The rule.
        public var rule: String
        /// What the provider did instead.
        public var found: String

        /// One line with both.
        public var description: String { "\(rule): \(found)" }
    }

    /// What is known about the service.
    public var fixture: Fixture

    /// Creates the suite for a provider.
    public init(_ fixture: Fixture) {
        self.fixture = fixture
    }

    /// Runs every check, one after the other.
    /// - Returns: The rules that were broken; empty for a provider that may be used.
    public func violations() async -> [Violation] {
        var violations: [Violation] = []
        for check in checks where isDue(check) {
            let provider: any HTTPDNSProvider
            do {
                provider = try await fixture.makeProvider()
            } catch {
                violations.append(Violation(rule: check.rule, found: "the fixture made no provider: \(error)"))
                continue
            }
            if let found = await check.run(provider) { violations.append(Violation(rule: check.rule, found: found)) }
            await provider.shutdown()
        }
        return violations
    }

    private struct Check {
        /// The subject of a rule that does not bind every provider.
        enum Topic {
            case timeLimit
            case ending
        }

        var rule: String
        var topic: Topic?
        var run: (any HTTPDNSProvider) async -> String?
    }

    private func isDue(_ check: Check) -> Bool {
        switch check.topic {
        case nil: true
        case .ending: fixture.silentName != nil
        case .timeLimit: fixture.silentName != nil && fixture.keepsTimeLimits
        }
    }

    private var checks: [Check] {
        [
            Check(rule: "it has a name", run: { $0.name.isEmpty ? "the name is empty" : nil }),
            Check(rule: "a name with both families gets all its addresses", run: answersBothFamilies),
            Check(rule: "a family without addresses is \"no data\" beside the other's addresses", run: answersNoData),
            Check(rule: "a name that does not exist is a name error", run: answersNameError),
            Check(rule: "only the families asked for have an outcome", run: honoursFamilies),
            Check(rule: "queries at once all get their own answers", run: answersAtOnce),
            Check(rule: "a query ends at its time limit", topic: .timeLimit, run: holdsTimeLimit),
            Check(rule: "a cancelled query ends with CancellationError", topic: .ending, run: endsWhenCancelled),
            Check(rule: "a batch may have one name at least", run: allowsBatches),
            Check(
                rule: "a batch answers about its names what single queries do, and about no others",
                run: answersBatches
            ),
            Check(rule: "a batch has outcomes only for the families asked for", run: honoursFamiliesInBatches),
            Check(rule: "a batch ends at its time limit", topic: .timeLimit, run: holdsTimeLimitInBatches),
            Check(
                rule: "a shutdown ends queries, and refuses later ones with code shut-down",
                topic: .ending,
                run: endsAtShutdown
            ),
            Check(
                rule: "a shutdown refuses later batches with code shut-down",
                topic: .ending,
                run: refusesBatchesAfterShutdown
            ),
        ]
    }
}
