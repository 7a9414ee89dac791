// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSSimulation
internal import Glibc
internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// A broken invariant, with the facts that show it.
struct Violation: Hashable {
    var rule: String
    var facts: String
}

/// What the settings of the clients say, as far as rules depend on it.
struct SettingsFacts {
    /// The addresses that the policy refuses.
    var denied: Set<HTTPDNSAddress> = []
    var staleLimit: Duration
    /// The value of the field that the client adds to each request.
    var field = "0"
    var providers: [ModelProvider]
    var isOff = false
    var mappings: [Int: NameRules.Mapping] = [:]
    /// The number of the trust settings.
    var trust = 0
}

/// A source of answers.
enum AnswerSource: Int, CaseIterable {
    case a, b, system, mapping
}

/// The world while it runs: what its models did, and the rules that they can see broken.
// Not Sendable by itself: the schedule lets one task or thread of the process run at a time.
final class Stage {
    let world: World
    let depth: Variant.Depth
    let seed: UInt64
    /// The lines of the trace; only kept when somebody reads them.
    private(set) var trace: [String] = []
    let keepsTrace: Bool
    private(set) var violations: [Violation] = []
    private var counts: [String: Int] = [:]
    /// The number of times that each kind of thing happened, over all worlds of the process.
    nonisolated(unsafe) static var coverage: [String: Int] = [:]

    /// The owners of addresses, for the check of each request.
    let owners: [HTTPDNSAddress: Int]
    private let hostNumbers: [String: Int]
    /// The latest time until which an answer with the address lives, by its source.
    private var usableUntil: [HTTPDNSAddress: [Int64]] = [:]
    /// The time at which the settings lost a provider.
    private var absentSince: [AnswerSource: Int64] = [:]
    /// How far the wall clock was set back, and when. Answers that are restored, and stored responses, have their age by it.
    private var setBack: [(at: Int64, by: Int64)] = []
    private var wallShift: Int64 = 0
    /// The time until which the body of a response may be given to calls.
    private var bodiesUntil: [String: Int64] = [:]
    var callStarts: [Int: Int64] = [:]
    /// The times at which calls ended with a response.
    var completed: [Int64] = []
    /// Addresses that the policy refuses, with the time from which calls that start must keep to it.
    private var denied: [HTTPDNSAddress: Int64] = [:]
    private var facts: SettingsFacts
    var rules = NameRules()
    /// The addresses that the system's name service has given.
    var bySystem: Set<HTTPDNSAddress> = []
    /// The calls that may get the stray bytes of a connection: they came after the request had left.
    private(set) var strayCalls: Set<Int> = []
    /// The names whose cookies a name may have got from such bytes.
    private var strayCookies: [Int: Set<Int>] = [:]
    /// The stale limits so far, and until when each was in effect.
    private var staleLimits: [(limit: Duration, until: Int64)] = []
    /// The clients that are not shut down.
    var clientsInUse = 0
    /// The address that the policy of the second client refuses besides, and its calls.
    var deniedToSecond: HTTPDNSAddress?
    var secondClientCalls: Set<Int> = []
    /// The names that a source has said do not exist, and the latest time until which that may be used.
    private var deniedUntil: [Int: Int64] = [:]
    /// The names that a call was redirected to, by the call.
    var visited: [Int: Set<Int>] = [:]
    /// The methods that redirects led to, by the target.
    var redirectMethods: [String: Set<String>] = [:]
    /// The tries of a target without a transport, and whether the last one was certainly not sent.
    var tries: [String: (count: Int, isUnsent: Bool)] = [:]
    /// The calls that got a response for one user, by its body.
    var readersOfPrivate: [String: Set<Int>] = [:]
    /// The values that the field of the client's settings may have.
    private var defaultFields: Set<String> = ["0"]
    var queriesInFlight: [String: Int] = [:]
    /// The time of an answer, and until which it is too young to be asked for again, by its host, and the families it has.
    private var rests: [String: (since: Int64, until: Int64, families: HTTPDNSAddress.Families)] = [:]
    /// The hosts whose last queries ran beside each other: their answers may live for different times.
    private var hedged: Set<String> = []
    /// The numbers of queries of a host, and of those that failed.
    private var queries: [String: (all: Int, failed: Int)] = [:]
    /// The time at which both providers had failed for a host that they never answered for.
    private var failedAt: [String: Int64] = [:]
    /// The time until which services may have asked providers for a pause.
    private var pausedUntil: Int64 = -1
    /// The last times at which a provider was asked for a host, and at which it had no address of it.
    var asked: [AnswerSource: [String: Int64]] = [:]
    private var failed: [AnswerSource: [String: Int64]] = [:]
    /// The times at which the system's name service answers with addresses.
    private var systemAnswers: [String: [Int64]] = [:]
    /// The times at which providers were asked that have not answered yet.
    private var waiting: [AnswerSource: [String: Int64]] = [:]
    /// The times until which providers may be left alone because their services have asked for it: 5 minutes at most, which
    /// a date after a jump of the wall clock is.
    private var leftAloneUntil: [AnswerSource: Int64] = [:]
    /// The last time at which a call for a name failed: a lookup without a call may end early.
    private var failedCalls: [Int: Int64] = [:]
    /// The time since which the settings are as they are; the future while they are replaced.
    private var settledAt: Int64 = 0
    /// The last time at which a provider answered with addresses of a host.
    private var knownAt: [String: Int64] = [:]
    /// The last connection that is not accepted, if nothing came since, and the first one of a call.
    private var silentSince: Int64?
    var connectingSince: Int64?
    /// When all connections were retired: those made before `began` are not for calls after `ended`.
    private var retired: (began: Int64, ended: Int64)?
    /// The trust settings so far.
    private var trusts: Set<Int> = [0]
    /// When the file system did not answer.
    private var fileHangs: [(since: Int64, until: Int64)] = []
    /// What `socket` and `pthread_create` refuse.
    private(set) var lacks: Set<World.Change.Lack> = []
    private var runsLoop = false
    /// The time at which there were descriptors again.
    private(set) var socketsSince: Int64 = -1

    struct Peer {
        var address: HTTPDNSAddress
        /// The time at which it is connected.
        var openedAt: Int64
        var buffer: [UInt8] = []
        var requests = 0
        var isOver = false
        /// The arrival of bytes that no request asked for.
        var strayAt: Int64?
        /// The names that requests on it were for.
        var names: Set<Int> = []
        /// Whether such bytes arrived after a request had left: over HTTP/1.1 no client can tell them from its
        /// response.
        var isShifted = false
        /// What opens a tunnel next, if it is the proxy's; nil for an open one.
        var step: ModelProxy.Step?
        /// Whether the proxy resolves the names.
        var isForwarded = false
        /// The head of a request whose body the server has asked for.
        var continued: String?
        /// What the server has announced: how long it keeps the idle connection, and the further requests that it takes.
        var keptUntil = Int64.max
        var requestsLeft = Int.max
    }

    private var peers: [Int: Peer] = [:]
    /// The connections on which bytes of a request that must not be repeated arrived, by its target.
    private var postConnections: [String: Set<Int>] = [:]
    var requestCount = 0
    var queryCount = 0
    var connectCount = 0

    /// The scheme of the URLs of the world.
    let scheme: String

    init(_ world: World, _ depth: Variant.Depth, keepsTrace: Bool) {
        facts = SettingsFacts(staleLimit: world.settings.staleLimit, providers: [])
        self.world = world
        self.depth = depth
        scheme = depth == .whole ? "http" : "https"
        seed = world.seed
        self.keepsTrace = keepsTrace
        var owners: [HTTPDNSAddress: Int] = [:]
        var hostNumbers: [String: Int] = [:]
        for (index, name) in world.names.enumerated() {
            hostNumbers[name.host] = index
            for address in name.addresses { owners[address] = index }
        }
        self.owners = owners
        self.hostNumbers = hostNumbers
    }

    // MARK: - Notes

    func note(_ text: @autoclosure () -> String) {
        if keepsTrace { trace.append("\(schedule.elapsed) \(text())") }
    }

    func cover(_ kind: String) { Stage.coverage[kind, default: 0] += 1 }

    func violate(_ rule: String, _ facts: String) {
        note("VIOLATION \(rule): \(facts)")
        violations.append(Violation(rule: rule, facts: facts))
    }

    /// The next number of a thing, from 0.
    func next(_ thing: String) -> Int {
        defer { counts[thing, default: 0] += 1 }
        return counts[thing, default: 0]
    }

    // MARK: - Answers

    /// Notes that an answer was given now.
    func answered(_ source: AnswerSource, _ addresses: [HTTPDNSAddress], lives: Duration) {
        let until = schedule.elapsed &+ min(lives, .seconds(3600)).nanoseconds
        for address in addresses {
            var limits = usableUntil[address] ?? AnswerSource.allCases.map { _ in -1 }
            limits[source.rawValue] = max(until, limits[source.rawValue])
            usableUntil[address] = limits
        }
    }

    /// Returns the time until which an answer with an address lives that a call may use.
    private func usableUntil(_ address: HTTPDNSAddress, start: Int64) -> Int64 {
        guard let limits = usableUntil[address] else { return -1 }
        return AnswerSource.allCases.reduce(-1) { latest, source in
            isGone(source, address, at: start) ? latest : max(latest, limits[source.rawValue])
        }
    }

    /// Whether the settings have lost a source of an address. Of a name with both families the address may be kept in the answer
    /// of another provider, which lacks its family: with the life of the shorter one.
    private func isGone(_ source: AnswerSource, _ address: HTTPDNSAddress, at start: Int64) -> Bool {
        let name = owners[address].map { world.names[$0].addresses } ?? []
        return start > absentSince[source] ?? .max && name.allSatisfy { $0.family == address.family }
    }

    /// Notes that a provider is asked for a name.
    /// - Parameter wait: The longest time that the name may have waited for others of a batch.
    func queried(_ host: String, _ families: HTTPDNSAddress.Families, after wait: Duration) {
        let now = schedule.elapsed
        // A lookup by former settings may have ended during that wait: both run beside each other.
        let isBeside = rests[host].map { now <= $0.since + wait.nanoseconds } ?? false
        if isBeside { rests[host] = nil }
        // A family that the answer lacks may be asked for alone.
        if let rest = rests[host], now < rest.until,
            families == .both || families.isSubset(of: rest.families)
        {
            violate("a name is not asked for again while its answer lives", "\(host) \(families), \(rest)")
        }
        if isBeside || queriesInFlight[host, default: 0] > 0 { hedged.insert(host) } else { hedged.remove(host) }
        queriesInFlight[host, default: 0] += 1
        queries[host, default: (0, 0)].all += 1
        failedAt[host] = nil
    }

    /// Notes that a provider begins to answer a query.
    /// - Parameter wait: The longest time that its name may have waited for others of a batch. That counts to the second in
    ///   which it has to answer.
    func asks(_ source: AnswerSource, for host: String, after wait: Duration = .zero) {
        asked[source, default: [:]][host] = schedule.elapsed
        waiting[source, default: [:]][host] = schedule.elapsed - wait.nanoseconds
    }

    /// Notes that a query has ended.
    /// - Parameter isGood: Whether it brought an address that a call may use.
    func ends(_ source: AnswerSource, for host: String, isGood: Bool) {
        queriesInFlight[host, default: 0] -= 1
        waiting[source, default: [:]][host] = nil
        if isGood {
            knownAt[host] = schedule.elapsed
        } else {
            failed[source, default: [:]][host] = schedule.elapsed
        }
    }

    /// Notes that the system's name service will answer with addresses.
    func answersBySystem(_ host: String, _ addresses: [HTTPDNSAddress], after delay: Int64) {
        if allowsAny(addresses) { systemAnswers[host, default: []].append(schedule.elapsed + delay) }
    }

    /// Notes that the service of a provider asks for a pause.
    func asksForPause(_ source: AnswerSource) {
        leftAloneUntil[source] = schedule.elapsed + Duration.seconds(305).nanoseconds
    }

    /// Notes that a query failed.
    func queryFailed(_ host: String) {
        queries[host, default: (0, 0)].failed += 1
        guard let name = number(of: host), !world.names[name].isShadow else { return }
        // The pause doubles with each further failure.
        if queries[host] ?? (0, 0) == (2, 2), !world.settings.hasSecondClient, schedule.elapsed > pausedUntil {
            failedAt[host] = schedule.elapsed
        }
    }

    /// Notes that a service may ask for a pause.
    func pauseProviders(for time: Duration) {
        pausedUntil = schedule.elapsed + time.nanoseconds
        failedAt = [:]
    }

    /// Notes that the answer to the only query for a name is kept.
    func rests(_ name: Int, _ addresses: [HTTPDNSAddress], of source: AnswerSource, lives: Duration) {
        let host = world.names[name].host
        // A call that failed to connect, and tries again, may ask again.
        let settings = world.settings
        // The system is asked beside a provider that is left alone.
        guard schedule.elapsed > pausedUntil, !world.names[name].isShadow, !settings.retries,
            settings.networkWait == .zero, !settings.hasSecondClient,
            lives >= .seconds(20), queriesInFlight[host] == 1, !hedged.contains(host), allowsAny(addresses),
            // The answer of a provider that the settings have lost meanwhile is not kept.
            facts.providers.contains(where: { $0.source == source })
        else { return }
        // A family that earlier answers had, and this one lacks, is asked for again.
        let families = Set(addresses.map(\.family))
        guard world.names[name].addresses.allSatisfy({ usableUntil[$0] == nil || families.contains($0.family) }) else {
            return
        }
        let until = schedule.elapsed + (min(lives, .seconds(3600)) / 2).nanoseconds
        let found = addresses.reduce(into: HTTPDNSAddress.Families()) { $0.formUnion($1.family == .v4 ? .v4 : .v6) }
        rests[host] = (schedule.elapsed, until, found)
    }

    /// Whether no other source is asked for a host beside one: its answer may be used in place of this one's.
    func isOnlyOne(_ source: AnswerSource, askedFor host: String) -> Bool {
        let start = (asked[source]?[host] ?? 0) - Duration.seconds(3).nanoseconds
        return asked.allSatisfy { $0.key == source || $0.value[host] ?? start - 1 < start }
    }

    func allowsAny(_ addresses: [HTTPDNSAddress]) -> Bool {
        addresses.contains { denied[$0] == nil && $0 != deniedToSecond }
    }

    /// Whether the settings, and where a name leads, have been the same since then.
    func isSettled(_ name: Int, since start: Int64) -> Bool {
        let rule = rules.destination(of: name)
        return settledAt < start && rule.since < start && rule.address == nil && !rule.isOff
    }

    /// Whether a provider may be left out for a host since then: in quarantine, which a failure for any host begins, or because
    /// of its last answer for this one. It is as good as failed after a second.
    private func mayLeaveOut(_ source: AnswerSource, for host: String, since start: Int64) -> Bool {
        if let asked = waiting[source]?[host], schedule.elapsed - asked >= 1_000_000_000 { return true }
        if leftAloneUntil[source] ?? -1 > start { return true }
        let failed = failed[source, default: [:]]
        let quarantine = (failed.values.max() ?? -.max / 2) + Duration.seconds(40).nanoseconds
        return quarantine > start || (failed[host] ?? -.max / 2) + Duration.seconds(305).nanoseconds > start
    }

    /// Checks a query to a provider that has ended.
    func checkTime(of query: HTTPDNSProviderQuery, to source: AnswerSource, since start: Int64) {
        let (host, took) = ("\(query.host)", schedule.elapsed - start)
        var facts: String { "\(source) for \(host): \(took) of \(query.timeLimit)" }
        let earlier = start - Duration.seconds(3).nanoseconds
        guard let name = number(of: host), settledAt < earlier else { return }
        let limit: Duration = self.facts.providers.count > 1 ? .seconds(1) : .seconds(3)
        if min(query.timeLimit, limit).nanoseconds + 1_000_000 < took || query.timeLimit > limit {
            violate("a query of a provider ends within a second, or three of the only one", facts)
        }
        guard took >= 1_000_000_000, failedCalls[name] ?? -1 < start, isSettled(name, since: earlier) else { return }
        // It ends the lookup, and the query goes on for the health of the provider.
        if systemAnswers[host]?.contains(where: { start...schedule.elapsed ~= $0 }) == true { return }
        for other in self.facts.providers.map(\.source) where other != source {
            if asked[other]?[host] ?? -1 < earlier, !mayLeaveOut(other, for: host, since: start) {
                violate("the next provider is asked within a second of a silent one", facts)
            }
        }
    }

    func noteFailure(of call: World.Call) {
        for name in visited[call.resource, default: []].union([call.name]) {
            for name in rules.led[name, default: []].union([name]) { failedCalls[name] = schedule.elapsed }
        }
    }

    /// Checks the failure of a call because its name has no address.
    func checkUnresolved(_ name: Int, since start: Int64, _ facts: @autoclosure () -> String) {
        guard world.names[name].hasRoute, !world.names[name].isShadow, isSettled(name, since: start) else { return }
        let host = world.names[rules.destination(of: name).name].host
        guard let end = number(of: host), world.names[end].hasRoute, !world.names[end].isShadow else { return }
        for provider in self.facts.providers where !mayLeaveOut(provider.source, for: host, since: start) {
            violate("a name fails only after each of its providers", "\(facts()), not \(provider.name)")
        }
    }

    /// Notes that a source says that a name does not exist.
    func denies(_ name: Int, lives: Duration) {
        let life = min(max(lives, .seconds(1)), .seconds(300))
        deniedUntil[name] = max(deniedUntil[name] ?? -1, schedule.elapsed + life.nanoseconds)
    }

    /// Checks a call that failed because one of these names does not exist.
    func checkDenial(of names: Set<Int>, by call: Int, _ facts: @autoclosure () -> String) {
        guard let until = names.compactMap({ deniedUntil[$0] }).max() else {
            violate("a name does not exist only when a source has said so", facts())
            return
        }
        // A call may join a lookup that began before.
        let start = (callStarts[call] ?? 0) - Duration.seconds(4).nanoseconds
        if start > until + setBack.reduce(0, { $0 + $1.by }) {
            violate("a denial of a name is used for its life, and 5 minutes at most", "\(facts()), until \(until)")
        }
    }

    /// Notes that answers may be asked for again: of one name, or of all.
    func forgetAnswers(of name: Int?) {
        guard let name else {
            (rests, failedAt) = ([:], [:])
            return
        }
        rests[world.names[name].host] = nil
        failedAt[world.names[name].host] = nil
    }

    // MARK: - Time

    func shiftWall(by shift: Duration) {
        wallShift += shift.nanoseconds
        sim_shift_wall(wallShift)
        if shift < .zero { setBack.append((schedule.elapsed, (.zero - shift).nanoseconds)) }
        forgetAnswers(of: nil)
    }

    /// Notes that a new client has only what the store kept. Changes that are no settings have ended.
    func restart() {
        rules.restart(at: schedule.elapsed)
        retired = nil
        forgetAnswers(of: nil)
        // An answer is older than it seems by what the clock was set back since it came.
        for (address, limits) in usableUntil {
            usableUntil[address] = limits.map { limit in limit + setBack.reduce(0) { $0 + $1.by } }
        }
    }

    /// Returns an HTTP date by the true time.
    func date(after seconds: Int) -> String {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        var (moment, parts) = (time.tv_sec - Int(wallShift / 1_000_000_000) + seconds, tm())
        gmtime_r(&moment, &parts)
        var text = [CChar](repeating: 0, count: 40)
        let count = strftime(&text, text.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
        return String(decoding: text.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Notes a response that is sent now.
    func sends(_ body: String, after pause: Duration, lives: Duration) {
        bodiesUntil[body] = schedule.elapsed + (pause + lives).nanoseconds
    }

    /// Checks the body that a call got which began then.
    func check(_ body: String, of call: Int, start: Int64) {
        guard let until = bodiesUntil[body] else { return }
        let back = setBack.reduce(0) { $0 + $1.by }
        // A call may share a response that arrives.
        if start > until + back + Duration.milliseconds(50).nanoseconds {
            violate("a stored response is not used after its life", "call \(call), \(start), until \(until): \(body)")
        }
    }

    /// Checks that the calls which completed use up the limit of an overload.
    func checkOverload() {
        guard let overload = world.overload, let end = world.calls.last?.start else { return }
        let time = (end - overload.service * 2) / .seconds(1)
        let least = time * overload.capacity * 0.8
        let completed = completed.filter { $0 <= end.nanoseconds }.count
        cover("overload of \(overload.limit)")
        note("overload: \(overload), \(completed) of \(Int(least / 0.8)) completed")
        // Of a few calls the share is chance.
        if least > 20, Double(completed) < least {
            let facts = "\(overload): \(completed) of \(Int(least / 0.8))"
            violate("under overload four fifths of a limit are used", facts)
        }
    }

    // MARK: - Settings

    /// Notes that settings are replaced: what they allow is right from now on, and what the earlier ones allow as well.
    func begin(_ given: SettingsFacts) {
        let new = inUse(given)
        settledAt = .max
        for address in facts.denied.subtracting(new.denied) { denied[address] = nil }
        staleLimits.append((max(facts.staleLimit, new.staleLimit), .max))
        defaultFields.insert(new.field)
        for provider in new.providers {
            provider.isInUse = true
            absentSince[provider.source] = nil
        }
        if !new.isOff { rules.turn(.settings, off: false, at: schedule.elapsed) }
        for case .address(let address) in new.mappings.values {
            answered(.mapping, [address], lives: .seconds(2))
        }
        rules.replaceBase(by: new.mappings, at: .max)
        forgetAnswers(ifChanged: new)
        // Connections of earlier trust settings may serve again when these return.
        if new.trust != facts.trust { retired = trusts.insert(new.trust).inserted ? (schedule.elapsed, .max) : nil }
    }

    /// Notes that settings are in effect: a call from now on keeps to them.
    func complete(_ given: SettingsFacts) {
        let new = inUse(given)
        let now = schedule.elapsed
        for address in new.denied.subtracting(facts.denied) { denied[address] = now }
        if let last = staleLimits.indices.last { staleLimits[last].until = now }
        defaultFields = [new.field]
        for provider in facts.providers where !new.providers.contains(where: { $0 === provider }) {
            provider.isInUse = false
            if !new.providers.contains(where: { $0.name == provider.name }) { absentSince[provider.source] = now }
        }
        if facts.isOff || new.isOff { rules.turn(.settings, off: new.isOff, at: now) }
        for case .address(let address) in facts.mappings.values { answered(.mapping, [address], lives: .zero) }
        rules.replaceBase(by: new.mappings, at: now)
        forgetAnswers(ifChanged: new)
        if new.trust != facts.trust { retired?.ended = now }
        settledAt = now
        facts = new
    }

    /// Returns settings with the providers that are used for them: an equivalent one in use stays, and the given one does nothing.
    private func inUse(_ given: SettingsFacts) -> SettingsFacts {
        var new = given
        new.providers = given.providers.map { provider in
            facts.providers.first { !$0.isShutDown && $0.isEquivalent(to: provider) } ?? provider
        }
        return new
    }

    /// Notes that all connections are retired now.
    func retireConnections() { retired = (schedule.elapsed, schedule.elapsed) }

    private func forgetAnswers(ifChanged new: SettingsFacts) {
        guard new.providers.map(\.name) == facts.providers.map(\.name), new.isOff == facts.isOff,
            new.mappings == facts.mappings
        else { return forgetAnswers(of: nil) }
        for address in new.denied.symmetricDifference(facts.denied) { forgetAnswers(of: owners[address]) }
    }

    /// Returns the longest stale limit that a call which began then may have found.
    private func staleLimit(since start: Int64) -> Duration {
        staleLimits.reduce(facts.staleLimit) { $1.until >= start ? max($0, $1.limit) : $0 }
    }

    // MARK: - Connections

    func connecting(_ number: Int, _ address: HTTPDNSAddress?, port: Int) -> sim_connection_fate {
        connectCount += 1
        let isProxy = world.settings.proxy != nil && address.map(ModelProxy.addresses.contains) == true
        guard let address, let owner = isProxy ? -1 : owners[address] else {
            violate("an address that no name has is never dialed", "\(String(describing: address)):\(port)")
            return sim_connection_fate(fate: Int32(SIM_REFUSE), delay: 1000)
        }
        if !runsLoop {
            runsLoop = true
            if world.settings.lacksThreads { lacks.insert(.threads) }
            refuse()
        }
        let text = "\(address)"
        var draw = Draw(now: "connect \(text)", in: seed)
        let fate = self.fate(of: text, &draw)
        cover("connect \(["accepted", "refused", "dropped"][Int(fate)])")
        note("connect \(number) to \(text) of n\(owner): \(fate)")
        // Under overload the limit is the only fault: connecting again after a call that timed out costs little.
        let longest: Duration = world.overload == nil ? .milliseconds(8) : .microseconds(500)
        let delay = draw.time(.microseconds(100), longest).nanoseconds
        checkPause(before: text, of: owner, isSilent: fate == SIM_DROP)
        peers[number] = Peer(address: address, openedAt: schedule.elapsed + delay)
        if isProxy, let proxy = world.settings.proxy {
            peers[number]?.step = proxy.firstStep
            peers[number]?.isForwarded = proxy.firstStep == nil
        }
        return sim_connection_fate(fate: Int32(fate), delay: delay)
    }

    /// Checks the time since the last connection that is silent.
    private func checkPause(before address: String, of owner: Int, isSilent: Bool) {
        let now = schedule.elapsed
        if racesPlainly, let last = silentSince {
            // The addresses of a family that comes late join the others.
            let due = last + world.settings.connecting.attemptDelay.nanoseconds
            if now > max(due, knownAt[world.names[owner].host] ?? -1) + 1_000_000 {
                violate("the next address is tried 250 ms after the one before", "\(address), \(now - last) ns after")
            }
        }
        silentSince = isSilent ? now : nil
        connectingSince = connectingSince ?? now
    }

    private func fate(of address: String, _ draw: inout Draw) -> Int {
        // An address is well or bad for some seconds, and then again.
        var weather = Draw(seed, "weather \(address) \(schedule.elapsed / 3_000_000_000)")
        let kind = weather.below(100)
        var fate = SIM_ACCEPT
        if kind < 8 { fate = SIM_REFUSE } else if kind < 14 { fate = SIM_DROP }
        if draw.happens(2) { fate = SIM_REFUSE }
        if draw.happens(2) { fate = SIM_DROP }
        return world.overload == nil ? fate : SIM_ACCEPT
    }

    /// Takes the messages from a connection to the proxy that open a tunnel.
    /// - Returns: Whether it is open.
    private func openTunnel(_ peer: inout Peer, on number: Int) -> Bool {
        guard let proxy = world.settings.proxy else { return true }
        while let step = peer.step, !peer.isOver {
            var isSilent = false
            let answer = proxy.answer(step, peer.buffer, in: self) { thing in
                var draw = Draw(now: "tunnel \(thing)", in: seed)
                guard step == .target else { return draw.happens(2) ? 0 : nil }
                let fate = fate(of: thing, &draw)
                isSilent = fate == SIM_DROP
                return fate == SIM_REFUSE ? draw.below(24) : nil
            }
            guard let answer else { return false }
            cover("tunnel \(proxy.kind) \(step) \(answer.isOver ? "refused" : isSilent ? "dropped" : "answered")")
            peer.buffer.removeFirst(answer.count)
            peer.step = answer.next
            peer.isOver = answer.isOver || isSilent
            if step == .target {
                guard let target = answer.target, owners[target] != nil else {
                    violate("an address that no name has is never dialed", "tunnel \(number)")
                    return false
                }
                note("tunnel \(number) to \(target)")
                peer.address = target
            }
            var draw = Draw(now: "tunnel time \(peer.address)", in: seed)
            let at = sim_now() + draw.time(.microseconds(100), .milliseconds(8)).nanoseconds
            guard !isSilent else { return false }
            answer.bytes.withUnsafeBytes {
                let bytes = $0.assumingMemoryBound(to: CChar.self)
                sim_push(Int32(number), at, bytes.baseAddress, bytes.count, Int32(SIM_BYTES))
            }
            if answer.isOver { sim_push(Int32(number), at, "", 0, Int32(SIM_END)) }
        }
        return !peer.isOver
    }

    /// Whether all connections since the start of a call are those of one request: nothing is tried again.
    private var racesPlainly: Bool {
        let settings = world.settings
        guard !settings.retries, !settings.hedges, !settings.systemFallback, settings.proxy == nil else { return false }
        let connecting = settings.connecting
        guard !connecting.warmsBeforeMoving, !connecting.probes else { return false }
        return world.isSequential && settings.networkWait == .zero
    }

    /// Notes that a call begins.
    func beginConnecting() { (silentSince, connectingSince) = (nil, nil) }

    /// Checks the time of a call that failed to connect.
    func checkConnecting(_ attempts: Int, _ facts: @autoclosure () -> String) {
        guard racesPlainly, let start = connectingSince else { return }
        let took = Duration.nanoseconds(schedule.elapsed - start)
        if took > .seconds(5) + world.settings.connecting.attemptDelay * (attempts - 1) + .milliseconds(1) {
            violate(
                "a call whose addresses accept nothing ends in 5 s and 250 ms for each further one",
                "\(facts()), after \(took)"
            )
        }
    }

    /// Notes that the process lacks something, or has it again.
    func lack(_ what: World.Change.Lack, isOver: Bool) {
        if isOver { lacks.remove(what) } else { lacks.insert(what) }
        if what == .sockets { socketsSince = isOver ? schedule.elapsed : .max }
        refuse()
    }

    func hangFiles(for time: Duration) {
        fileHangs.append((schedule.elapsed, schedule.elapsed + time.nanoseconds))
        sim_hold_reads(sim_now() + time.nanoseconds)
    }

    /// Returns how long a call that began then has waited for the file of its secret.
    func secretWait(of call: World.Call, since start: Int64) -> Duration {
        guard world.settings.hasSecretFile, call.name == 0 else { return .zero }
        return .nanoseconds(fileHangs.reduce(start) { $1.since <= $0 ? max($0, $1.until) : $0 } - start)
    }

    private func refuse() {
        // The first loop gets its thread.
        sim_refuse(lacks.contains(.sockets) ? 1 : 0, runsLoop && lacks.contains(.threads) ? 1 : 0)
    }

    func closed(_ number: Int) {
        note("closed \(number)")
        peers[number] = nil
    }

    func received(_ number: Int, _ bytes: UnsafeBufferPointer<UInt8>) {
        guard var peer = peers[number] else { return }
        peer.buffer += bytes
        defer { peers[number] = peer }
        guard peer.step == nil || openTunnel(&peer, on: number) else { return }
        while let end = headEnd(in: peer.buffer) {
            let request = ReceivedRequest(head: peer.buffer[..<end])
            noteArrival(of: request, on: number)
            // The client takes such bytes for a response, and from then on each response for that of the next request. Of a
            // slow body the rest may still come.
            if let strayAt = peer.strayAt, strayAt > sim_now() { peer.isShifted = true }
            if peer.isShifted, let call = request.call { strayCalls.insert(call) }
            if let name = hostNumbers[request.host] {
                // Names of one target identity share a connection, and then the cookies of such responses.
                if peer.isShifted { strayCookies[name, default: []].formUnion(peer.names) }
                peer.names.insert(name)
            }
            guard peer.buffer.count - end >= request.length else {
                if request.expectsContinue, peer.continued != request.target {
                    peer.continued = request.target
                    peers[number] = peer
                    askForBody(of: request, on: number)
                    peer = peers[number] ?? peer
                }
                break
            }
            peer.buffer.removeFirst(end + request.length)
            peer.requests += 1
            peers[number] = peer
            serve(request, on: number)
            peer = peers[number] ?? peer
        }
    }

    /// Notes the connection that the first bytes of a request arrived on.
    func noteArrival(of request: ReceivedRequest, on number: Int) {
        guard request.method == "POST" else { return }
        let (isNew, _) = postConnections[request.target, default: []].insert(number)
        if isNew, postConnections[request.target, default: []].count > 1 {
            violate("a POST that may have been sent is never sent again", "\(request.target) on connection \(number)")
        }
    }

    private func serve(_ request: ReceivedRequest, on number: Int) {
        guard let peer = peers[number] else { return }
        guard !peer.isOver else { return }
        requestCount += 1
        silentSince = nil
        note("request \(number) \(request.method) \(request.target) at \(peer.address)")
        check(request, at: peer.isForwarded ? nil : peer.address)
        let login = peer.isForwarded && world.settings.proxy?.hasLogin == true ? ModelProxy.login : nil
        if request.proxyAuthorization != login {
            violate("a proxy alone gets its login", "\(request.target) at \(peer.address)")
        }
        // On its way when the server closes.
        peers[number]?.requestsLeft = peer.requestsLeft == .max ? .max : peer.requestsLeft - 1
        if !peer.isShifted, schedule.elapsed > peer.keptUntil || peer.requestsLeft <= 0 {
            violate(
                "a connection gets no request after the limits that its server has announced",
                "\(request.target) on connection \(number), until \(peer.keptUntil), \(peer.requestsLeft) left"
            )
        }
        peers[number]?.keptUntil = .max
        if let retired, peer.openedAt < retired.began, let call = request.call, callStarts[call] ?? 0 > retired.ended {
            violate("a retired connection gets no new request", "\(request.target) on connection \(number)")
        }
        respond(to: request, on: number)
    }

    /// Checks a request that is sent to an address; nil for a proxy that gets the name.
    func check(_ request: ReceivedRequest, at address: HTTPDNSAddress?) {
        guard let name = hostNumbers[request.host], let call = request.call else {
            violate("each request is one of a call", "\(request.target) \(request.host)")
            return
        }
        if let address { check(call, to: name, at: address) }
        var facts: String { "call \(call) n\(name), \(schedule.elapsed)" }
        if let secret = request.authorization, secret != "Bearer secret-\(name)" || request.hasOtherPort {
            violate("a secret goes to its own origin only", "\(facts), \(secret)")
        }
        let names = strayCookies[name, default: []].union([name])
        for cookie in request.cookies where !names.contains(where: { cookie == "c\($0)=1" }) {
            violate("a cookie goes to its own host only", "\(facts), \(cookie)")
        }
        // Its call may follow the redirect of another one.
        if request.depth > 0, !strayCalls.contains(call),
            redirectMethods[request.target]?.contains(request.method) != true
        {
            violate("a redirect leads to the method that its status asks for", "\(request.method) \(request.target)")
        }
    }

    private func check(_ call: Int, to name: Int, at address: HTTPDNSAddress) {
        var facts: String { "call \(call) n\(name) at \(address), \(schedule.elapsed)" }
        let start = callStarts[call] ?? 0
        let owner = owners[address] ?? name
        let rule = rules.destination(of: name)
        if owner != name, rules.led[name]?.contains(owner) != true {
            violate("a request goes to an address of its name", facts)
        }
        let isCompared = world.names[name].isShadow && owner == name && rule.address == nil
        if start > rule.since, isCompared, !bySystem.contains(address) {
            violate("a name in shadow mode goes to addresses of the system", facts)
        }
        let isRefused = address == deniedToSecond && secondClientCalls.contains(call)
        if let since = isRefused ? -1 : denied[address], start > since {
            violate("an address that the policy refuses gets no request", facts)
        }
        if start > rule.since, owner != rule.name || rule.address.map({ $0 != address }) ?? false {
            violate("a call after a change of a mapping keeps to it", "\(facts), now \(rule)")
        }
        if start > rule.since, rule.isOff, !bySystem.contains(address) {
            violate("a call after the switch is off goes to addresses of the system", "\(facts), \(rule)")
        }
        if rules.mappedAddress(of: name) != address, world.names[owner].hasRoute {
            let limit = usableUntil(address, start: start)
            // Until a request to a new address has its response, others stay.
            let hold = world.settings.connecting.warmsBeforeMoving ? Duration.seconds(5) : .zero
            let slack = staleLimit(since: start) + world.settings.stickiness + hold + .seconds(1)
            // A call may have got its answer at its start.
            if limit < 0 || start > limit + slack.nanoseconds {
                violate("an answer is not used after its life and the stale limit", "\(facts), usable until \(limit)")
            }
        }
        if let failed = failedAt[world.names[rule.name].host], rule.address == nil, !rule.isOff,
            start > max(rule.since, failed + Duration.milliseconds(1200).nanoseconds)
        {
            violate("providers are asked again a second after they failed", "\(facts), failed at \(failed)")
        }
    }

    /// Checks the field of the client's settings, of a request that is sent now.
    func checkDefaultField(_ value: String?, of request: ReceivedRequest) {
        // A client that is shut down, and completes its requests in flight, refuses new settings.
        guard world.settings.hasDefaultField, !defaultFields.contains(value ?? ""), let call = request.call,
            !secondClientCalls.contains(call)
        else { return }
        violate(
            "a request has the fields of the settings that it is sent with",
            "\(request.target) with \(value ?? "none"), not \(defaultFields)"
        )
    }

    // MARK: - Responses

    /// The number of a name of the world; nil for other hosts.
    func number(of host: String) -> Int? { hostNumbers[host] }

    /// Answers a head that waits for leave to send its body.
    private func askForBody(of request: ReceivedRequest, on number: Int) {
        var draw = Draw(now: "continue \(request.target)", in: seed)
        let kind = draw.below(10)
        cover("body \(kind < 6 ? "asked for" : kind < 8 ? "refused" : "waited for")")
        let text = kind < 6 ? "100 Continue\r\n\r\n" : "413 Too Long\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        guard kind < 8 else { return }
        let at = sim_now() + draw.time(.zero, .milliseconds(8)).nanoseconds
        let bytes = "HTTP/1.1 \(text)"
        sim_push(Int32(number), at, bytes, bytes.utf8.count, Int32(SIM_BYTES))
        if kind >= 6 {
            sim_push(Int32(number), at, "", 0, Int32(SIM_END))
            peers[number]?.isOver = true
        }
    }

    private func respond(to request: ReceivedRequest, on number: Int) {
        let response = ModelResponse(to: request, in: self)
        var at = sim_now() + response.pause.nanoseconds
        func push(_ bytes: [UInt8], kind: Int = SIM_BYTES) {
            bytes.withUnsafeBytes {
                let bytes = $0.assumingMemoryBound(to: CChar.self)
                sim_push(Int32(number), at, bytes.baseAddress, bytes.count, Int32(kind))
            }
        }
        func push(_ text: String, kind: Int = SIM_BYTES) { push(Array(text.utf8), kind: kind) }
        var head = "HTTP/1.1 \(response.status)\r\n"
        if let limits = response.keepAlive {
            head += "Keep-Alive: timeout=\(limits.time.components.seconds), max=\(limits.requests)\r\n"
        }
        for field in response.fields { head += "\(field.name): \(field.value)\r\n" }
        switch response.framing {
        case .length: head += "Content-Length: \(response.length)\r\n\r\n"
        case .chunks: head += "Transfer-Encoding: chunked\r\n\r\n"
        case .connection: head += "Connection: close\r\n\r\n"
        }
        for (pause, line) in response.interim where response.extent != .nothing {
            at += pause.nanoseconds
            push("HTTP/1.1 \(line)\r\nX-Interim: \(request.target)\r\n\r\n")
        }
        switch response.extent {
        case .nothing: break
        case .wrongHead(let head): push(head)
        case .halfOfHead: push("HTTP/1.1 200 OK\r\nContent-Le")
        case .partOfBody: push(Array(head.utf8) + (response.pieces.first?.bytes.prefix(5) ?? []))
        case .all:
            push(head)
            for piece in response.pieces {
                at += piece.pause.nanoseconds
                let chunk = "\(String(piece.bytes.count, radix: 16))\r\n".utf8
                push(response.framing == .chunks ? chunk + piece.bytes + Array("\r\n".utf8) : piece.bytes)
            }
            if response.framing == .chunks { push("0\r\n\(response.trailers)\r\n") }
        }
        if let limits = response.keepAlive {
            peers[number]?.requestsLeft = limits.requests
            peers[number]?.keptUntil = at - sim_now() + schedule.elapsed + limits.time.nanoseconds
            if limits.requests == 0 {
                push("", kind: SIM_END)
                peers[number]?.isOver = true
            }
        }
        if response.end != .open {
            push("", kind: response.end == .reset ? SIM_RESET : SIM_END)
            peers[number]?.isOver = true
        } else if let pause = response.closesAfter {
            at += pause.nanoseconds
            push("", kind: SIM_END)
            peers[number]?.isOver = true
        } else if let pause = response.straysAfter {
            at += pause.nanoseconds
            peers[number]?.strayAt = at
            push("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nstray")
        }
    }
}

/// Returns the end of the first request head; nil when it is not complete.
func headEnd(in bytes: [UInt8]) -> Int? {
    bytes.indices.dropFirst(3).first {
        bytes[$0] == 10 && bytes[$0 - 1] == 13 && bytes[$0 - 2] == 10 && bytes[$0 - 3] == 13
    }.map { $0 + 1 }
}

/// A request as a server reads it.
struct ReceivedRequest {
    let method: String
    let target: String
    /// The number of the call, from a target such as `/a17/2`.
    let call: Int?
    /// The number of redirects before this request, from the target.
    let depth: Int
    /// The target without that number.
    let path: String
    var host = ""
    var hasOtherPort = false
    var length = 0
    var expectsContinue = false
    var authorization: String?
    var proxyAuthorization: String?
    var cookies: [String] = []

    init(method: String, target: String) {
        self.method = method
        self.target = target
        let parts = target.utf8.split(separator: UInt8(ascii: "/")).map(Substring.init)
        let first = parts.first ?? ""
        path = "/" + first
        call = Int(first.dropFirst())
        depth = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
    }

    /// Reads the head of a request as bytes: as text it would take most of a model's time.
    init(head: ArraySlice<UInt8>) {
        var rest = head
        let words = nextLine(of: &rest).split(separator: UInt8(ascii: " "))
        let isRequest = words.count == 3
        var target = isRequest ? text(words[1]) : ""
        // A proxy that forwards requests gets the whole URL.
        if target.hasPrefix("http://") { target = String(target.dropFirst(7).drop { $0 != "/" }) }
        self.init(method: isRequest ? text(words[0]) : "", target: target)
        while !rest.isEmpty {
            let line = nextLine(of: &rest)
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
            let value = line[(colon + 1)...].drop { $0 == UInt8(ascii: " ") }
            switch text(line[..<colon]).lowercased() {
            case "host":
                let name = value.prefix { $0 != UInt8(ascii: ":") }
                host = text(name)
                hasOtherPort = name.count < value.count
            case "content-length": length = Int(text(value)) ?? 0
            case "expect": expectsContinue = true
            case "proxy-authorization": proxyAuthorization = text(value)
            case "authorization": authorization = text(value)
            case "cookie":
                cookies += value.split(separator: UInt8(ascii: ";")).map { text($0.drop { $0 == UInt8(ascii: " ") }) }
            default: break
            }
        }
    }
}

/// Takes a line that ends with CR LF.
private func nextLine(of bytes: inout ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    let end = bytes.firstIndex(of: UInt8(ascii: "\r")) ?? bytes.endIndex
    defer { bytes = bytes[end...].dropFirst(2) }
    return bytes[..<end]
}

private func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }
