// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSCore
public import HTTPDNSPrimitives

/// The contract of `HTTPDNSProvider`, as checks that every provider has to pass. It works with any test framework:
///
/// ```swift
/// let violations = await HTTPDNSProviderCompatibility(fixture).violations()
/// #expect(violations.isEmpty)
/// ```
public struct HTTPDNSProviderCompatibility: Sendable {
    /// A provider and the known answers of its service.
    public struct Fixture: Sendable {
        /// A function that creates a provider for one check, which shuts it down. No other code may use that provider.
        public var makeProvider: @Sendable () async throws -> any HTTPDNSProvider
        /// A name with addresses of both families.
        public var dualStackName: HTTPDNSName
        /// Its addresses, in any order.
        public var dualStackAddresses: [HTTPDNSAddress]
        /// A name with IPv4 addresses only.
        public var v4OnlyName: HTTPDNSName
        /// A name that does not exist.
        public var unknownName: HTTPDNSName
        /// A name for which the service does not respond for at least a minute.
        ///
        /// Nil for a provider that never waits, such as a table: the rules for time limits, cancellation and shutdown are then
        /// left out.
        public var silentName: HTTPDNSName?
        /// Whether the provider itself ends queries at their time limit.
        ///
        /// If not, they end when their task is canceled, as the resolver does at the limit.
        public var keepsTimeLimits = true
        /// Whether the service can report that a name does not exist. If it cannot, such a name has no addresses.
        public var reportsNameErrors = true
        /// The time limit of a query for names that are answered.
        public var timeLimit: Duration = .seconds(5)
        /// The time limit of the query that is meant to exceed it.
        public var shortTimeLimit: Duration = .milliseconds(200)
        /// The time that a query may still take after a time limit, a cancellation or a shutdown, on a busy machine.
        public var gracePeriod: Duration = .seconds(10)

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

    /// A rule that a provider broke.
    public struct Violation: Hashable, Sendable, CustomStringConvertible {
        /// The rule.
        public var rule: String
        /// The provider's actual behavior.
        public var found: String

        /// One line with rule and finding.
        public var description: String { "\(rule): \(found)" }
    }

    /// The known facts about the service.
    public var fixture: Fixture

    /// Creates the suite for a provider.
    public init(_ fixture: Fixture) {
        self.fixture = fixture
    }

    /// Runs every check, one after the other.
    /// - Returns: The rules that were broken; empty for a valid provider.
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
            Check(rule: "a canceled query ends with CancellationError", topic: .ending, run: endsWhenCancelled),
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
