// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Testing

@testable import HTTPDNSCurl

extension HTTPDNSEndpoint {
    /// The endpoint at `10.0.0.number`.
    static func numbered(_ number: Int) -> HTTPDNSEndpoint {
        HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 10, 0, 0, UInt8(number)), port: 443)
    }
}

extension Race {
    init(count: Int) { self.init((0..<count).map { .numbered($0 + 1) }, startedAt: 0) }

    mutating func failed(_ index: Int) -> Step {
        failed(index, TransferFailure(code: .connectFailed, phase: .connect, message: "refused"))
    }
}

/// A dialer without libcurl, on a network that is a table and a clock that only events move, in milliseconds.
private struct ModelDialer {
    enum Path {
        case accepts(after: Int64)
        case refuses(after: Int64)
        case silent
    }

    private enum Event {
        case accepted(Int)
        case refused(Int)
        case delayPassed(Int)
        case limit(Int)
        case known([HTTPDNSEndpoint])
    }

    static let delay: Int64 = 250
    static let connectLimit: Int64 = 10_000

    private let paths: [HTTPDNSEndpoint: Path]
    private var race: Race
    private var running: Set<Int> = []
    private var events: [(at: Int64, order: Int, event: Event)] = []
    private var now: Int64 = 0
    private(set) var begun: [(endpoint: HTTPDNSEndpoint, at: Int64)] = []
    private(set) var sent: [HTTPDNSEndpoint] = []
    private(set) var connectedAt: Int64?
    private(set) var failure: TransferFailure?

    init(_ paths: KeyValuePairs<Int, Path>, late: (endpoints: [Int], at: Int64)? = nil) {
        self.init(paths.map { ($0, $1) }, late: late)
    }

    init(_ paths: [(Int, Path)], late: (endpoints: [Int], at: Int64)? = nil) {
        self.paths = Dictionary(uniqueKeysWithValues: paths.map { (.numbered($0), $1) })
        let isLate = Set(late?.endpoints ?? [])
        race = Race(paths.filter { !isLate.contains($0.0) }.map { .numbered($0.0) }, startedAt: 0)
        if let late { schedule(.known(late.endpoints.map(HTTPDNSEndpoint.numbered)), at: late.at) }
    }

    /// Dials until there is a connection, or no endpoint is left.
    mutating func dial() {
        follow(race.begin())
        while race.winner == nil, failure == nil, let index = events.indices.min(by: { key($0) < key($1) }) {
            let (time, _, event) = events.remove(at: index)
            now = time
            switch event {
            case .accepted(let attempt) where running.contains(attempt):
                guard race.passesGate(attempt) else { continue }
                sent.append(race.endpoints[attempt])
                connectedAt = now
            case .refused(let attempt) where running.contains(attempt): end(attempt, .connectFailed)
            case .limit(let attempt) where running.contains(attempt): end(attempt, .timedOut)
            case .delayPassed(let attempt) where running.contains(attempt): follow(race.delayPassed(attempt))
            case .known(let endpoints): follow(race.add(endpoints))
            case .accepted, .refused, .limit, .delayPassed: break
            }
        }
    }

    private func key(_ index: Int) -> (Int64, Int) { (events[index].at, events[index].order) }

    private mutating func schedule(_ event: Event, at time: Int64) { events.append((time, events.count, event)) }

    private mutating func end(_ attempt: Int, _ code: TransferFailure.Code) {
        running.remove(attempt)
        var failure = TransferFailure(code: code, phase: .connect, message: "\(code)")
        failure.endpoint = race.endpoints[attempt]
        follow(race.failed(attempt, failure))
    }

    private mutating func follow(_ step: Race.Step) {
        if let attempt = step.begins {
            let endpoint = race.endpoints[attempt]
            begun.append((endpoint, now))
            running.insert(attempt)
            switch paths[endpoint] {
            case .accepts(let time): schedule(.accepted(attempt), at: now + time)
            case .refuses(let time): schedule(.refused(attempt), at: now + time)
            case .silent, nil: break
            }
            schedule(.delayPassed(attempt), at: now + ModelDialer.delay)
            schedule(.limit(attempt), at: now + ModelDialer.connectLimit)
        }
        if step.isLost { failure = race.verdict(at: now) }
    }
}

struct RaceDialerTests {
    @Test("A silent endpoint delays the next one, and a refusal begins it immediately")
    func delays() {
        var silent = ModelDialer([1: .silent, 2: .accepts(after: 20)])
        silent.dial()
        #expect(silent.sent == [.numbered(2)] && silent.connectedAt == 270)
        var refused = ModelDialer([1: .refuses(after: 5), 2: .accepts(after: 20)])
        refused.dial()
        #expect(refused.sent == [.numbered(2)] && refused.connectedAt == 25)
        var slow = ModelDialer([1: .accepts(after: 300), 2: .accepts(after: 100)])
        slow.dial()
        #expect(slow.sent == [.numbered(1)] && slow.connectedAt == 300)
    }

    @Test("The failure of all endpoints names each, and the most informative one")
    func verdict() throws {
        var dialer = ModelDialer([1: .silent, 2: .refuses(after: 30), 3: .silent])
        dialer.dial()
        let failure = try #require(dialer.failure)
        #expect(failure.code == .connectFailed && failure.endpoint == .numbered(2))
        #expect(failure.attempts.map(\.endpoint) == [2, 1, 3].map(HTTPDNSEndpoint.numbered))
        #expect(dialer.sent.isEmpty)
    }

    @Test("Endpoints that are known late join the race, in alternation")
    func late() {
        var dialer = ModelDialer(
            [1: .silent, 2: .silent, 3: .silent, 4: .accepts(after: 10)],
            late: (endpoints: [3, 4], at: 100)
        )
        dialer.dial()
        #expect(dialer.begun.map(\.endpoint) == [1, 3, 2, 4].map(HTTPDNSEndpoint.numbered))
        #expect(dialer.begun.map(\.at) == [0, 250, 500, 750] && dialer.connectedAt == 760)
    }

    @Test("A request is sent once, in order, whenever an endpoint accepts")
    func networks() {
        for seed in UInt64(0)..<2_000 {
            var random = SeededRandom(seed)
            let paths = (1...Int(random.next(in: 1...6))).map { number -> (Int, ModelDialer.Path) in
                let time = Int64(random.next(in: 0...2_000))
                return switch random.next(in: 0...2) {
                case 0: (number, .accepts(after: time))
                case 1: (number, .refuses(after: time))
                default: (number, .silent)
                }
            }
            var dialer = ModelDialer(paths)
            dialer.dial()
            let canConnect = paths.contains { if case .accepts = $0.1 { true } else { false } }
            #expect(dialer.sent.count == (canConnect ? 1 : 0), "seed \(seed)")
            #expect((dialer.failure == nil) == canConnect, "seed \(seed)")
            let tried = dialer.begun.map(\.endpoint)
            #expect(tried == paths.prefix(tried.count).map { .numbered($0.0) }, "seed \(seed)")
            if !canConnect { #expect(dialer.failure?.attempts.count == paths.count, "seed \(seed)") }
        }
    }
}
