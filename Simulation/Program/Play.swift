// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSSimulation
internal import Glibc
internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSPrimitives
internal import HTTPDNSResponseCache
internal import HTTPTypes

/// The way in which a world is played.
struct Variant: Hashable, CustomStringConvertible {
    /// How much of the product takes part.
    enum Depth: String, CaseIterable {
        /// All of it, with libcurl, on modeled sockets.
        case whole
        /// All above the transport, which is modeled: TLS and HTTP/2 too.
        case pipeline
    }

    var depth = Depth.whole
    var order: Schedule.Order
    var isObserved = false

    var description: String {
        var text =
            switch order {
            case .arrival: "in order of arrival"
            case .random(let seed): "schedule \(seed)"
            }
        if depth == .pipeline { text += ", without a transport" }
        if isObserved { text += ", observed" }
        return text
    }
}

/// What became of a world.
struct Outcome {
    /// What each call returned, by its number.
    var calls: [Int: String] = [:]
    var violations: [Violation] = []
    var steps = 0
    var requests = 0
    var queries = 0
    var connections = 0
    var virtualSeconds = 0.0
    var trace: [String] = []
    /// Whether nothing of it is left, so that another world can be played.
    var isOver = true
}

/// An interceptor that passes every request on.
private struct PassingInterceptor: HTTPDNSClient.Interceptor {
    func intercept(
        _ request: HTTPDNSClient.Request,
        context: HTTPDNSClient.InterceptionContext,
        next: Next
    ) async throws -> HTTPDNSClient.Response {
        try await next(request, context)
    }
}

/// Plays a world with the real client, its loops and libcurl.
func play(_ world: World, _ variant: Variant, keepsTrace: Bool = false) -> Outcome {
    let stage = Stage(world, variant.depth, keepsTrace: keepsTrace)
    currentStage = stage
    var models = sim_models()
    models.connecting = { number, bytes, count, port in
        let address = HTTPDNSAddress(bytes: UnsafeBufferPointer(start: bytes, count: Int(count)))
        return currentStage.connecting(Int(number), address, port: Int(port))
    }
    models.received = { number, bytes, count in
        let raw = UnsafeRawBufferPointer(start: bytes, count: count)
        currentStage.received(Int(number), raw.bindMemory(to: UInt8.self))
    }
    models.closed = { currentStage.closed(Int($0)) }
    models.named = { name, family, answer in
        guard let name, let answer else { return }
        answerName(String(cString: name), family: family, into: &answer.pointee)
    }
    schedule.begin(variant.order)
    sim_begin(&models, world.seed)
    let run = WorldRun(stage, variant)
    Task.detached { await run.play() }
    let isOver = schedule.run(until: { run.isOver }, mostSteps: 2_000 * (world.calls.count + 1_000))
    if isOver { stage.checkOverload() }
    if !isOver { stage.violate("every call ends", "\(run.unfinished) after \(schedule.steps) steps") }
    let sockets = sim_open_sockets()
    let threads = sim_end()
    if isOver, sockets != 0 { stage.violate("a shutdown closes every connection", "\(sockets) are open") }
    for provider in run.providers where isOver && provider.wasInUse && !provider.isShutDown {
        stage.violate("a provider that no client uses is shut down", provider.name)
    }
    if threads != 0, isOver { stage.violate("a shutdown ends every thread", "\(threads) are left") }
    var outcome = Outcome()
    outcome.calls = run.outcomes
    outcome.violations = stage.violations
    outcome.steps = schedule.steps
    outcome.requests = stage.requestCount
    outcome.queries = stage.queryCount
    outcome.connections = stage.connectCount
    outcome.virtualSeconds = Double(schedule.elapsed) / 1e9
    outcome.trace = stage.trace
    outcome.isOver = isOver && threads == 0
    return outcome
}

/// A file with one authority: the machine's own are 140, which each new trust would parse for 15 ms. No server proves a
/// name, so none is ever used.
private let rootsPath = """
    -----BEGIN CERTIFICATE-----
    MIIBgDCCASWgAwIBAgIUFCFMDvGExVGPdOQeJZqGo48fJbswCgYIKoZIzj0EAwIw
    FDESMBAGA1UEAwwJcm9vdC50ZXN0MCAXDTI2MTEyNzEyNDcwMFoYDzIxMjYxMTAz
    MTI0NzAwWjAUMRIwEAYDVQQDDAlyb290LnRlc3QwWTATBgcqhkjOPQIBBggqhkjO
    PQMBBwNCAATmEqOblr2K4P8mAWZCzK4OxqFalUeRcLolFBrC94vN8I6lNZ/uIcTS
    XPpcKM8sjmYzID82OdcGOZFFu9JQl9sWo1MwUTAdBgNVHQ4EFgQUlAvkhjMqmg3m
    UiN9w4LfgYvDitMwHwYDVR0jBBgwFoAUlAvkhjMqmg3mUiN9w4LfgYvDitMwDwYD
    VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNJADBGAiEAhimEOlDFZkH7hblrxWAi
    1ytpTRf9iVhDAC5kC6e+tbgCIQCzyxQBVROoR08DIRvNEMw+99TDPijbt6+jycmA
    zolydg==
    -----END CERTIFICATE-----

    """.withCString { "/proc/self/fd/\(sim_memory_file($0))" }

/// The system's name service: it knows all names, and answers two addresses of each.
private func answerName(_ text: String, family: Int32, into answer: inout sim_name_answer) {
    let stage = currentStage
    var draw = Draw(now: "system \(text)", in: stage.seed)
    answer.delay = draw.time(.microseconds(200), draw.happens(5) ? .seconds(2) : .milliseconds(20)).nanoseconds
    stage.cover("system lookup")
    defer { stage.note("system \(text) \(family): \(answer.error), \(answer.count) addresses") }
    let host = text.hasSuffix(".") ? String(text.dropLast()) : text
    stage.asked[.system, default: [:]][host] = schedule.elapsed
    let index = stage.number(of: host)
    guard index != nil || host == ModelProxy.host, !draw.happens(3) else {
        answer.error = -2
        // It is used as long as addresses of the system.
        if let index { stage.denies(index, lives: .seconds(40)) }
        return
    }
    var given: [HTTPDNSAddress] = []
    for address in index.map({ stage.world.names[$0].addresses }) ?? ModelProxy.addresses {
        let isWanted = family == 0 || family == (address.family == .v4 ? 2 : 10)
        guard isWanted, given.count < 2 else { continue }
        given.append(address)
        stage.bySystem.insert(address)
        withUnsafeMutableBytes(of: &answer.addresses) {
            UnsafeMutableRawBufferPointer(rebasing: $0[(given.count - 1) * 16..<given.count * 16])
                .copyBytes(from: address.bytes)
        }
        withUnsafeMutableBytes(of: &answer.lengths) {
            $0.storeBytes(
                of: Int32(address.bytes.count),
                toByteOffset: (given.count - 1) * MemoryLayout<Int32>.stride,
                as: Int32.self
            )
        }
    }
    answer.count = Int32(given.count)
    // EAI_NODATA: the name has addresses of the other family.
    if given.isEmpty { answer.error = -5 }
    stage.answered(.system, given, lives: .seconds(40))
    stage.answersBySystem(host, given, after: answer.delay)
}

/// The calls and changes of a world, on one client.
// @unchecked: the schedule lets one task of the process run at a time.
private final class WorldRun: @unchecked Sendable {
    private let stage: Stage
    private let variant: Variant
    private(set) var isOver = false
    private(set) var outcomes: [Int: String] = [:]
    private var terminalEvents: [UInt64: Int] = [:]
    /// The events of resolvers by their kind, in the order of ``made``.
    private var resolverEvents: [[HTTPDNSResolver.Event.Kind: Int]] = []
    private var clients: [HTTPDNSClient] = []
    /// The clients whose shutdown has begun.
    private var closed: Set<ObjectIdentifier> = []
    /// All settings so far; the last ones are in effect.
    private var settings: [(configuration: HTTPDNSClient.Configuration, facts: SettingsFacts)] = []
    private(set) var providers: [ModelProvider] = []
    private let store: (any HTTPDNSResolutionStore)?
    /// All clients so far, and the readers of their events.
    private var made: [(client: HTTPDNSClient, events: [Task<Void, Never>])] = []
    /// The lookups ahead.
    private var lookups: [Task<Void, Never>] = []
    /// The restart in progress, which calls wait for.
    private var restarting: Task<Void, any Error>?
    /// The calls that have begun and not ended, by number, and how many have begun for each name.
    private var running: [Int: World.Call] = [:]
    /// The number of changes of settings, mappings and the kill switch.
    private var changes = 0
    /// The clients whose events are read now, and those whose events were read at all.
    private var observing = 0
    private var observed = 0
    private var begun: [Int: Int] = [:]
    /// The number of calls that a shut down client refused at once: its events may have ended before.
    private var refused = 0
    /// The status of the last response that each client got from an address of a name, if no two calls of the name ran beside each
    /// other since.
    private var lastStatus: [Int: [HTTPDNSEndpoint: [Bool: Int]]] = [:]

    init(_ stage: Stage, _ variant: Variant) {
        self.stage = stage
        self.variant = variant
        switch stage.world.settings.store {
        case .none: store = nil
        case .memory: store = ModelStore()
        case .file: store = HTTPDNSDiskStore(path: WorldRun.snapshot)
        }
    }

    deinit { for file in [WorldRun.snapshot, WorldRun.secret] { unlink(file) } }

    /// A file of this process, in memory where the system has that.
    private static let snapshot = "/dev/shm/httpdns-simulate-\(getpid())"
    private static let lookupTime = "a lookup ends within 3 s, or 300 ms with a stale answer"
    private static let secret = snapshot + "-secret"

    var unfinished: String {
        let left = stage.world.calls.map(\.number).filter { outcomes[$0] == nil }
        let limits = clients.map { "\($0.permitsTaken) permits taken, \($0.requestsWaiting) requests waiting" }
        return "\(left.count) calls, \(left.prefix(5)), \(limits)"
    }

    private func firstConfiguration() throws -> HTTPDNSClient.Configuration {
        let settings = stage.world.settings
        var configuration = HTTPDNSClient.Configuration()
        configuration.environment = { _ in nil }
        configuration.random = { 0.5 }
        configuration.trust.roots = .file(rootsPath)
        let sources: [AnswerSource] = stage.world.overload == nil ? [.a, .b] : [.a]
        try use(sources.map { ModelProvider($0) }, in: &configuration)
        configuration.resolver.store = store
        configuration.resolver.hasIPv6Route = { settings.hasIPv6 }
        configuration.resolver.cache.staleLimit = settings.staleLimit
        configuration.connections.addressStickiness = settings.stickiness
        let loops = settings.loops
        configuration.connections.loops = settings.takesLoopsInTurn ? .inTurn(loops) : .count(loops)
        configuration.connections.maximumPerHost = settings.maximumPerHost
        if settings.hedges { configuration.connections.hedgeAfter = .milliseconds(20) }
        if settings.ejects { configuration.connections.ejection = HTTPDNSClient.Configuration.OutlierEjection() }
        if settings.retries { configuration.retries = .standard }
        configuration.retries.networkWait = settings.networkWait
        configuration.mergesIdenticalReads = settings.merges
        if settings.keepsCookies { configuration.cookies = .memory() }
        if settings.cachesResponses { configuration.responseCache = .memory() }
        if !settings.hasHeadLimit { configuration.timeouts.responseHead = nil }
        if settings.hasDefaultField { configuration.headers.fields[.settings] = "0" }
        if settings.hasSecretFile, let origin = HTTPDNSClient.Origin("\(stage.scheme)://\(stage.world.names[0].host)") {
            let file = open(WorldRun.secret, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
            _ = "secret-0".utf8CString.withUnsafeBytes { write(file, $0.baseAddress, 8) }
            close(file)
            configuration.credentials[origin] = .bearer(.file(WorldRun.secret))
            configuration.allowsCleartextCredentials = true
        }
        if settings.hasSecondClient {
            let name = stage.world.names[0]
            configuration.resolver.mappings = [
                try HTTPDNSMapping.Key(name.host): .addresses([.init(name.addresses[0])])
            ]
            // Clients of one file share the rules too.
            configuration.resolver.indexedMappings = try HTTPDNSMappings(configuration.resolver.mappings)
        }
        settings.connecting.apply(to: &configuration)
        if let proxy = settings.proxy { configuration.proxy = try proxy.rules() }
        stage.world.overload?.apply(to: &configuration)
        if variant.isObserved {
            configuration.applicationInterceptors = [PassingInterceptor()]
            // A network interceptor may add what belongs to one caller: reads with a secret of the settings are not shared
            // then, and a call gets its response before the whole body.
            let changesTimes = stage.world.isSequential && settings.merges && settings.hasSecretFile
            if !changesTimes { configuration.networkInterceptors = [PassingInterceptor()] }
        }
        return configuration
    }

    private func use(_ providers: [ModelProvider], in configuration: inout HTTPDNSClient.Configuration) throws {
        self.providers += providers
        configuration.resolver.providers = providers
        configuration.resolver.routes = try stage.world.names.filter(\.hasRoute).map {
            var route = HTTPDNSRoute(
                try HTTPDNSRoute.Pattern($0.host),
                .providers(providers.map(\.name), fallback: stage.world.settings.systemFallback ? .system : .off)
            )
            if $0.isShadow { route.mode = .shadow }
            let settings = stage.world.settings
            route.usesHTTPSRecords = settings.usesHTTPSRecords
            route.wantsSecondOpinion = settings.wantsSecondOpinion
            if settings.asksFastest { route.order = .fastest }
            let network = HTTPDNSAddress(v4: 198, 51, 100, 7)
            if settings.hasClientSubnet { route.clientSubnet = HTTPDNSAddressBlock(network, prefixLength: 28) }
            route.rollout = settings.rollout.map { .init(percent: $0, by: .key) }
            return route
        }
    }

    private func start(_ configuration: HTTPDNSClient.Configuration) async throws {
        let client = try await client(configuration)
        clients.append(client)
        stage.clientsInUse += 1
        guard variant.isObserved else { return made.append((client, [])) }
        let number = made.count
        resolverEvents.append([:])
        let events = [
            Task { await self.observe(client.requestEvents) },
            Task { await self.observe(client.resolver.events, number) },
        ]
        made.append((client, events))
        while observed < 2 * made.count { await Task.yield() }
    }

    private func client(_ configuration: HTTPDNSClient.Configuration) async throws -> HTTPDNSClient {
        guard variant.depth == .pipeline else { return try await HTTPDNSClient(configuration: configuration) }
        var configuration = configuration
        configuration.responseCaching = try await configuration.responseCaching?.open(configuration.logger)
        let resolver = try HTTPDNSResolver(
            configuration.resolverSettings,
            isEnabled: configuration.isEnabled,
            systemResolver: configuration.systemResolver
        )
        let client = HTTPDNSClient(configuration: configuration, resolver: resolver, sender: ModelWire())
        await resolver.start()
        return client
    }

    func play() async {
        do {
            let configuration = try firstConfiguration()
            var facts = SettingsFacts(staleLimit: stage.world.settings.staleLimit, providers: providers)
            if stage.world.settings.hasSecondClient { facts.mappings[0] = .address(stage.world.names[0].addresses[0]) }
            settings = [(configuration, facts)]
            stage.begin(facts)
            stage.complete(facts)
            try await start(configuration)
            if stage.world.settings.hasSecondClient {
                let address = stage.world.names[0].addresses[0]
                stage.deniedToSecond = address
                try await start(configurations(from: configuration)[1])
            }
            let changes = Task { await self.change() }
            await withTaskGroup(of: Void.self) { group in
                if stage.world.isSequential {
                    group.addTask { await self.runInTurn() }
                } else {
                    for call in stage.world.calls {
                        group.addTask {
                            try? await Task.sleep(for: call.start)
                            await self.run(call)
                        }
                    }
                }
                if clients.count > 1, let last = stage.world.calls.last {
                    group.addTask {
                        try? await Task.sleep(for: last.start / 2)
                        await self.shutDown(self.clients[1])
                        self.clients.removeLast()
                    }
                }
            }
            changes.cancel()
            await changes.value
            for client in clients where !closed.contains(ObjectIdentifier(client)) { await shutDown(client) }
            for lookup in lookups { await lookup.value }
            for (client, _) in made { checkLimits(of: client) }
            // An event may still be on its way to its reader.
            for _ in 0..<100 where observing > 0 { try? await Task.sleep(for: .milliseconds(10)) }
            if observing > 0 { stage.violate("the events of a client end with it", "\(observing)") }
            for event in made.flatMap(\.events) {
                event.cancel()
                await event.value
            }
            if variant.isObserved { checkEvents() }
        } catch {
            stage.violate("a client of a world can be made and shut down", "\(error)")
        }
        isOver = true
    }

    private func shutDown(_ client: HTTPDNSClient) async {
        closed.insert(ObjectIdentifier(client))
        stage.clientsInUse -= 1
        do {
            try await client.shutdown(drainingFor: .seconds(1))
        } catch {
            stage.violate("a client can be shut down", "\(error)")
        }
    }

    private func checkLimits(of client: HTTPDNSClient) {
        if client.requestsWaiting != 0 {
            stage.violate("no request waits when all calls have ended", "\(client.requestsWaiting)")
        }
        if client.permitsTaken != 0 {
            stage.violate("every permit is given back when all calls have ended", "\(client.permitsTaken)")
        }
    }

    /// The configurations of the clients; that of the second one refuses one address more.
    private func configurations(from configuration: HTTPDNSClient.Configuration) -> [HTTPDNSClient.Configuration] {
        var second = configuration
        if let address = stage.deniedToSecond { second.resolver.policy.denied += [address].compactMap(block) }
        return [configuration, second]
    }

    private func block(_ address: HTTPDNSAddress) -> HTTPDNSAddressBlock? {
        HTTPDNSAddressBlock(address, prefixLength: address.family == .v4 ? 32 : 128)
    }

    private func reload(_ configuration: HTTPDNSClient.Configuration) async throws {
        for (client, own) in zip(clients, configurations(from: configuration)) {
            do {
                _ = try await client.reload(own)
            } catch let error as HTTPDNSClientError where error.code == .shutDown {}
        }
    }

    // MARK: - Calls

    private func body(of call: World.Call) -> HTTPDNSClient.Request.Body {
        guard call.isPost else { return .none }
        var bytes = Array("order \(call.number)".utf8)
        var size = Draw(stage.seed, "size \(call.number)")
        if size.happens(1) { bytes += [UInt8](repeating: UInt8(ascii: "."), count: 100_000) }
        guard call.isStream else { return .bytes(bytes) }
        let left = Lock((pieces: [bytes[...2], bytes[3...]][...], draw: Draw(stage.seed, "pieces \(call.number)")))
        let chunks = AsyncStream<ArraySlice<UInt8>> {
            let next = left.withLock { left in
                left.pieces.popFirst().map { ($0, left.draw.time(.zero, .milliseconds(20))) }
            }
            guard let (piece, pause) = next else { return nil }
            try? await Task.sleep(for: pause)
            return piece
        }
        return .stream(length: Int64(bytes.count), chunks)
    }

    private func runInTurn() async {
        var last = Duration.zero
        for call in stage.world.calls {
            try? await Task.sleep(for: call.start - last)
            last = call.start
            await run(call)
        }
    }

    private func run(_ call: World.Call) async {
        while clients.isEmpty, let restarting {
            _ = await restarting.result
            // Not all of them in one moment.
            var draw = Draw(stage.seed, "held up \(call.number)")
            try? await Task.sleep(for: draw.time(.zero, .milliseconds(1)))
        }
        let isOfSecond = clients.count > 1 && call.usesSecondClient && !closed.contains(ObjectIdentifier(clients[1]))
        let client = clients[isOfSecond ? 1 : 0]
        if isOfSecond { stage.secondClientCalls.insert(call.number) }
        let name = stage.world.names[call.name]
        var request = HTTPDNSClient.Request(
            method: call.isPost ? .post : .get,
            url: "\(stage.scheme)://\(name.host)/a\(call.resource)",
            body: body(of: call)
        )
        if call.hasSecret { request.headerFields[.authorization] = "Bearer secret-\(call.name)" }
        if let timeout = call.timeout { request.changeOptions { $0.timeouts.total = timeout } }
        var ways = Draw(stage.seed, "ways \(call.number)")
        if call.isPost, ways.happens(15) { request.changeOptions { $0.continueTimeout = .milliseconds(50) } }
        if ways.happens(5) {
            let (resource, path) = (call.resource, "/a\(call.resource)")
            request.onInterimResponse = { interim in
                let stage = currentStage
                stage.cover("interim response \(interim.status.code) read")
                let owner = interim.headerFields[.interim] ?? path
                if !owner.hasPrefix(path), !stage.strayCalls.contains(resource) {
                    stage.violate("an interim response belongs to its request", "\(path): \(owner)")
                }
            }
        }
        // Of several calls that share a response, the first one decides.
        stage.callStarts[call.resource] = min(schedule.elapsed, stage.callStarts[call.resource] ?? .max)
        begun[call.name, default: 0] += 1
        let number = begun[call.name]
        let isFirst = !running.values.contains { $0.name == call.name }
        running[call.number] = call
        stage.beginConnecting()
        stage.note("call \(call.number) \(name.host)")
        let (start, changesBefore) = (schedule.elapsed, changes)
        let task = Task { [request] in try await self.send(request, call, client) }
        var canceler: Task<Void, Never>?
        if let pause = call.cancelAfter {
            canceler = Task {
                // A sleep of no time would end after the first steps of the call.
                if pause > .zero { try? await Task.sleep(for: pause) }
                task.cancel()
            }
        }
        let text: String
        var details = ""
        do {
            let response = try await task.value
            text = "\(response.status.code)"
            for exchange in response.exchanges {
                let longest: Duration = exchange.request.resolution.isStale ? .milliseconds(300) : .seconds(3)
                if let took = exchange.resolve, took > longest + .milliseconds(1),
                    exchange.request.resolution.switchedOff == nil
                {
                    stage.violate(WorldRun.lookupTime, "call \(call.number): \(took)")
                }
                details += " \(exchange.remote), \(exchange.failedAttempts.count) attempts before"
            }
            stage.completed.append(schedule.elapsed)
            note(response.exchanges, of: call, isAlone: isFirst && begun[call.name] == number)
        } catch {
            text = (error as? HTTPDNSClientError).map { "\($0.code)" } ?? "canceled"
            stage.cover("error \(text)")
            // The status of a response whose body failed is not known.
            forgetStatus(of: call)
            stage.noteFailure(of: call)
            let elapsed = Duration.nanoseconds(schedule.elapsed - start)
            check(error, of: call, by: client, after: elapsed, changes: changes - changesBefore)
        }
        running[call.number] = nil
        canceler?.cancel()
        let elapsed = schedule.elapsed - start
        if let timeout = call.timeout, elapsed > timeout.nanoseconds + 1_000_000 {
            stage.violate("a call ends at its deadline", "call \(call.number): \(elapsed) ns of \(timeout)")
        }
        if let pause = call.cancelAfter, elapsed > pause.nanoseconds + 1_000_000 {
            stage.violate(
                "a canceled call ends immediately",
                "call \(call.number): \(elapsed) ns, canceled at \(pause)"
            )
        }
        outcomes[call.number] = "\(text) after \(elapsed)\(details)"
        if text == "shut-down", elapsed == 0 { refused += 1 }
        stage.note("result \(call.number) \(text) after \(elapsed)")
    }

    private func check(
        _ error: any Error,
        of call: World.Call,
        by client: HTTPDNSClient,
        after elapsed: Duration,
        changes: Int
    ) {
        var facts: String { "call \(call.number): \(error)" }
        guard let error = error as? HTTPDNSClientError else {
            if call.cancelAfter == nil { stage.violate("only a call that is canceled ends as canceled", facts) }
            return
        }
        let start = schedule.elapsed - elapsed.nanoseconds
        // A lookup that the call joined may have ended at the resolver's own limit.
        let resolving = (error.underlying as? HTTPDNSResolver.Error)?.limit
        let connecting = stage.world.settings.connecting
        // The wait for a connection is that of the call whose request it shares, and may have begun before it.
        let isShared =
            stage.world.settings.merges && error.phase == .queue
            && stage.world.calls.contains { $0.number < call.number && $0.resource == call.resource }
        if error.code == .timedOut, !isShared, let timeout = call.timeout, elapsed < timeout - .milliseconds(1),
            elapsed < min(connecting.readLimit, connecting.queueWait ?? .seconds(60)),
            resolving != HTTPDNSResolver.Configuration().timeLimit
        {
            stage.violate("a call does not time out before its time limit", "\(facts), after \(elapsed)")
        }
        if stage.socketsSince >= 0, "\(error)".contains("Too many open files") {
            stage.cover("error for lack of a descriptor")
            if stage.callStarts[call.resource] ?? 0 > stage.socketsSince {
                stage.violate("a call does not fail for lack of a descriptor when there are some", facts)
            }
        }
        if error.code == .transportFailed, error.phase == .queue {
            stage.violate("a call does not fail while another loop can serve it", facts)
        }
        if (error.underlying as? HTTPDNSResolver.Error)?.code == .providersFailed, stage.visited[call.resource] == nil {
            stage.checkUnresolved(call.name, since: start, facts)
        }
        let settings = stage.world.settings
        // A request that waits for a connection is resolved again after that.
        let waits = !stage.world.isSequential && (settings.maximumPerHost ?? connecting.maximum) != nil
        if error.phase == .resolve, !settings.retries, settings.networkWait == .zero, !waits,
            // What failed by former settings is looked up by the newer ones.
            stage.visited[call.resource] == nil,
            elapsed - stage.secretWait(of: call, since: start) > .milliseconds(3001) * (1 + changes)
        {
            stage.violate(WorldRun.lookupTime, "\(facts), after \(elapsed)")
        }
        if error.phase == .connect, stage.visited[call.resource] == nil {
            stage.checkConnecting(error.attempts.count, facts)
        }
        var names = stage.visited[call.resource, default: []].union([call.name])
        for name in names { names.formUnion(stage.rules.led[name] ?? []) }
        // A call that got a response to another one may have been redirected by it.
        if !stage.strayCalls.contains(call.resource), error.code != .proxyUnreachable,
            (error.underlying as? HTTPDNSResolver.Error)?.code == .nameNotFound
        {
            stage.checkDenial(of: names, by: call.resource, facts)
        }
        guard call.isPost, !call.isStream, stage.world.settings.retries, call.timeout == nil, call.cancelAfter == nil,
            !closed.contains(ObjectIdentifier(client)), error.code == .connectFailed || error.code == .connectionLost
        else { return }
        let targets = sequence(first: 0) { $0 + 1 }.lazy.map { $0 == 0 ? "/a\(call.number)" : "/a\(call.number)/\($0)" }
        let last = Array(targets.prefix { self.stage.tries[$0] != nil }).last.flatMap { stage.tries[$0] }
        if let last, last.count == 1, last.isUnsent {
            stage.violate("a request that was certainly not sent is tried again", facts)
        }
    }

    private func forgetStatus(of call: World.Call) {
        let names = stage.visited[call.resource, default: []].union([call.name])
        for name in names { lastStatus[name] = nil }
    }

    /// Notes the responses of a call.
    /// - Parameter isAlone: Whether no other call of its name ran beside it.
    private func note(_ exchanges: [HTTPDNSClient.Exchange], of call: World.Call, isAlone: Bool) {
        let settings = stage.world.settings
        guard isAlone, !settings.hedges, settings.connecting.selection == .automatic, settings.proxy == nil,
            stage.visited[call.resource] == nil,
            !running.values.contains(where: { stage.visited[$0.resource]?.contains(call.name) == true })
        else { return forgetStatus(of: call) }
        let isOfSecond = stage.secondClientCalls.contains(call.number)
        for exchange in exchanges {
            let last = lastStatus[call.name, default: [:]][exchange.remote, default: [:]]
                .updateValue(exchange.status.code, forKey: isOfSecond)
            guard exchange.keptPreviousAddress, let last, [421, 502, 503, 504].contains(last) else { continue }
            stage.violate(
                "an address that refuses, and that the newest answer lacks, gets no more requests",
                "\(exchange.remote)"
            )
        }
    }

    private func send(
        _ request: HTTPDNSClient.Request,
        _ call: World.Call,
        _ client: HTTPDNSClient
    ) async throws -> HTTPDNSClient.Response {
        let start = schedule.elapsed
        let response = try await client.execute(request)
        var reading = Draw(stage.seed, "reading \(call.number)")
        if reading.happens(2) {
            stage.cover("body not read")
            return response
        }
        // A time limit would pass meanwhile.
        if call.timeout == nil, call.cancelAfter == nil, reading.happens(20) {
            try await Task.sleep(for: reading.time(.zero, .milliseconds(50)))
        }
        let body = String(decoding: try await response.body.collect(upTo: .bytes(1_000_000)), as: UTF8.self)
        let status = response.status.code
        stage.cover("status \(status)")
        if let owner = response.body.trailers?[.interim] {
            stage.cover("trailers read")
            if !owner.hasPrefix("/a\(call.resource)"), !stage.strayCalls.contains(call.resource) {
                stage.violate("trailers belong to their request", "\(request.url): \(owner)")
            }
        }
        stage.check(body, of: call.number, start: start)
        if status == 200, !stage.strayCalls.contains(call.resource), !body.hasPrefix("body of /a\(call.resource)") {
            stage.violate("a response belongs to its request", "\(request.url): \(body)")
        }
        if !stage.world.settings.cachesResponses, stage.readersOfPrivate[body] != nil {
            stage.readersOfPrivate[body]?.insert(call.number)
            if let readers = stage.readersOfPrivate[body], readers.count > 1 {
                stage.violate("a response for one user is given to one call", "\(body): calls \(readers.sorted())")
            }
        }
        return response
    }

    // MARK: - Events

    private func observe(_ events: HTTPDNSClient.RequestEvents) async {
        observing += 1
        observed += 1
        defer { observing -= 1 }
        for await event in events.buffered(upTo: 100_000) where event.kind.isTerminal {
            terminalEvents[event.callID, default: 0] += 1
        }
    }

    private func observe(_ events: HTTPDNSResolver.Events, _ number: Int) async {
        observing += 1
        observed += 1
        defer { observing -= 1 }
        for await event in events.buffered(upTo: 100_000) {
            stage.cover("event \(event.kind)")
            resolverEvents[number][event.kind, default: 0] += 1
        }
    }

    private func checkEvents() {
        for (client, events) in zip(made.map(\.client), resolverEvents) {
            let counters = client.resolver.counters
            let counts: [HTTPDNSResolver.Event.Kind: Int] = [
                .refreshStarted: counters.refreshesStarted, .refreshed: counters.refreshesSucceeded,
                .refreshFailed: counters.refreshesFailed, .changed: counters.changes, .lastResort: counters.lastResort,
                .providerFailed: counters.providers.values.reduce(0) { $0 + $1.failures.values.reduce(0, +) },
            ]
            for (kind, count) in counts where events[kind] ?? 0 != count {
                stage.violate("a resolver counts what it reports", "\(kind): \(events[kind] ?? 0), counted \(count)")
            }
            for (name, provider) in counters.providers {
                let failures = provider.failures.values.reduce(0, +)
                let ended = provider.answers + provider.negatives + provider.canceled + failures
                if ended != provider.queries {
                    stage.violate("each query of a provider ends once", "\(name): \(ended) of \(provider.queries)")
                }
            }
        }
        let several = terminalEvents.filter { $0.value != 1 }
        if !several.isEmpty { stage.violate("a call has one terminal event", "\(several)") }
        if !(outcomes.count - refused...outcomes.count).contains(terminalEvents.count) {
            stage.violate("each call has a terminal event", "\(terminalEvents.count) of \(outcomes.count)")
        }
    }

    // MARK: - Changes

    private func change() async {
        for event in stage.world.events {
            let pause = event.at.nanoseconds - schedule.elapsed
            if pause > 0 { guard (try? await Task.sleep(for: .nanoseconds(pause))) != nil else { return } }
            do {
                try await apply(event.change)
                // Most calls that a restart held up begin before the next change, which may be due already.
                var pause = Draw(stage.seed, "pause \(event.at)")
                if case .restart = event.change, pause.happens(80) { try await Task.sleep(for: .milliseconds(1)) }
            } catch {
                if Task.isCancelled { return }
                stage.violate("a valid change of settings is taken", "\(event.change): \(error)")
            }
        }
    }

    /// Changes the mapping of a name. Its address is from now on what an answer is that ends now.
    private func map(_ name: Int, to mapping: NameRules.Mapping?, _ rule: HTTPDNSMapping?) throws {
        if let old = stage.rules.mappedAddress(of: name) { stage.answered(.mapping, [old], lives: .zero) }
        for client in clients where !closed.contains(ObjectIdentifier(client)) {
            try client.mappings.apply { $0[stage.world.names[name].host] = rule }
        }
        stage.rules.map(name, to: mapping, at: schedule.elapsed)
        changes += 1
    }

    private func turn(_ name: Int?, off isOff: Bool) throws {
        let scope = try name.map { HTTPDNSResolver.KillSwitch.Scope.route(try .init(stage.world.names[$0].host)) }
        for client in clients where isOff { client.killSwitch.turnOff(scope ?? .everything) }
        stage.rules.turn(name.map { .name($0) } ?? .everything, off: isOff, at: schedule.elapsed)
        stage.forgetAnswers(of: name)
        for client in clients where !isOff { client.killSwitch.turnOn(scope ?? .everything) }
        changes += 1
    }

    private func apply(_ change: World.Change) async throws {
        stage.note("change \(change)")
        guard var (configuration, facts) = settings.last else { return }
        switch change {
        case .map(let name, let index):
            stage.cover("change mapping")
            let address = stage.world.names[name].addresses[index]
            try map(name, to: .address(address), .init(.addresses([.init(address)])))
        case .via(let name, let target, let usesTargetIdentity):
            stage.cover("change mapping via")
            let host = try HTTPDNSName(stage.world.names[target].host)
            try map(name, to: .via(target), .init(.via(host, usesTargetIdentity: usesTargetIdentity)))
        case .unmap(let name):
            stage.cover("change mapping removed")
            stage.forgetAnswers(of: name)
            try map(name, to: nil, nil)
        case .switchOff(let name):
            stage.cover("change switch off\(name == nil ? "" : " for a name")")
            try turn(name, off: true)
        case .switchOn(let name):
            stage.cover("change switch on\(name == nil ? "" : " for a name")")
            try turn(name, off: false)
        case .deny(let name, let index):
            stage.cover("change policy")
            let address = stage.world.names[name].addresses[index]
            configuration.resolver.policy.denied += [address].compactMap(block)
            facts.denied.insert(address)
            try await put(configuration, facts)
        case .staleLimit(let limit):
            stage.cover("change stale limit")
            configuration.resolver.cache.staleLimit = limit
            facts.staleLimit = limit
            try await put(configuration, facts)
        case .retireConnections:
            stage.cover("change connections retired")
            for client in clients { client.retireConnections() }
            stage.retireConnections()
        case .defaultField(let number):
            stage.cover("change default field")
            configuration.headers.fields[.settings] = "\(number)"
            facts.field = "\(number)"
            try await put(configuration, facts)
        case .provider(let source):
            stage.cover("change providers")
            let wanted = source.map { [$0] } ?? [.a, .b]
            facts.providers = wanted.map { source in
                facts.providers.first { $0.source == source } ?? ModelProvider(source)
            }
            try use(facts.providers, in: &configuration)
            try await put(configuration, facts)
        case .isEnabled(let isEnabled):
            stage.cover("change enabled in settings")
            configuration.isEnabled = isEnabled
            facts.isOff = !isEnabled
            try await put(configuration, facts)
        case .mapInSettings(let name, let index):
            stage.cover("change mapping in settings")
            facts.mappings[name] = .address(stage.world.names[name].addresses[index])
            try map(stage.world.names[name], to: index, in: &configuration)
            try await put(configuration, facts)
        case .trust(let number):
            stage.cover("change trust")
            facts.trust = number
            // libcurl does not use them here.
            let ciphers = ["ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-RSA-CHACHA20-POLY1305"]
            configuration.trust.ciphers = ciphers.indices.filter { number >> $0 & 1 == 1 }.map { ciphers[$0] }
            try await put(configuration, facts)
        case .rollBack(let count):
            stage.cover("change rolled back")
            (configuration, facts) = settings[max(0, settings.count - 1 - count)]
            do {
                try await put(configuration, facts)
            } catch let error as HTTPDNSClientError where error.code == .configuration {
                // A provider that is not in use any more may be shut down: then it takes another object.
                stage.cover("change rolled back with other providers")
                guard facts.providers.contains(where: \.isShutDown) else { throw error }
                facts.providers = facts.providers.map { $0.isShutDown ? ModelProvider($0.source) : $0 }
                try use(facts.providers, in: &configuration)
                try await put(configuration, facts)
            }
        case .refusedSettings(let mistake):
            stage.cover("change refused \(mistake)")
            try await refuse(mistake, configuration)
        case .restart:
            stage.cover("change restart")
            let restart = Task { [configuration, facts] in try await self.restart(configuration, facts) }
            restarting = restart
            defer { restarting = nil }
            try await restart.value
        case .wallClock(let shift):
            stage.cover("change wall clock \(shift < .zero ? "back" : "forward")")
            stage.shiftWall(by: shift)
        case .lack(let what, let isOver):
            stage.cover("lack of \(what)\(isOver ? " over" : "")")
            stage.lack(what, isOver: isOver)
        case .filesHang(let time):
            stage.cover("change files hang")
            stage.hangFiles(for: time)
        case .preresolve:
            stage.cover("change names looked up ahead")
            let names = try stage.world.names.map { try HTTPDNSName($0.host) }
            for client in clients { lookups.append(Task { _ = await client.resolver.preresolve(names) }) }
        case .preconnect(let name):
            let url = "\(stage.scheme)://\(stage.world.names[name].host)/"
            for client in clients {
                lookups.append(
                    Task { [stage] in
                        let made = try? await client.preconnect(to: url, connections: 2)
                        stage.cover("change connections ahead\(made == nil ? ", failed" : "")")
                    }
                )
            }
        case .readStatus:
            stage.cover("change status read")
            for client in clients {
                let status = client.status()
                _ = (client.resolver.status, client.resolver.counters)
                if status.connections.open > sim_open_sockets() {
                    stage.violate("a client reports no more connections than it has", "\(status.connections.open)")
                }
            }
        }
    }

    private func restart(_ configuration: HTTPDNSClient.Configuration, _ facts: SettingsFacts) async throws {
        await shutDown(clients.removeFirst())
        // Another process has its own descriptors.
        stage.lack(.sockets, isOver: true)
        var (configuration, facts) = (configuration, facts)
        stage.restart()
        facts.providers = facts.providers.map { ModelProvider($0.source) }
        try use(facts.providers, in: &configuration)
        stage.begin(facts)
        stage.complete(facts)
        settings = [(configuration, facts)]
        try await start(configuration)
    }

    private func map(
        _ name: World.Name,
        to index: Int,
        in configuration: inout HTTPDNSClient.Configuration
    ) throws {
        configuration.resolver.mappings[try HTTPDNSMapping.Key(name.host)] = .addresses([.init(name.addresses[index])])
        configuration.resolver.indexedMappings = try HTTPDNSMappings(configuration.resolver.mappings)
    }

    private func put(_ configuration: HTTPDNSClient.Configuration, _ facts: SettingsFacts) async throws {
        // Certificates are tried on a socket.
        if stage.lacks.contains(.sockets), facts.trust != settings.last?.facts.trust { return }
        stage.begin(facts)
        try await reload(configuration)
        stage.complete(facts)
        changes += 1
        settings.append((configuration, facts))
    }

    /// Tries settings in which everything is different and one thing is wrong: nothing of them may have an effect.
    private func refuse(_ mistake: Int, _ present: HTTPDNSClient.Configuration) async throws {
        var configuration = present
        configuration.headers.fields[.settings] = "refused"
        configuration.resolver.policy.denied = []
        configuration.resolver.cache.staleLimit = .seconds(100_000)
        configuration.isEnabled.toggle()
        for name in stage.world.names { try map(name, to: 3, in: &configuration) }
        configuration.resolver.providers = [ModelProvider(.a), ModelProvider(.b)]
        configuration.trust.ciphers = ["ECDHE-RSA-AES256-GCM-SHA384"]
        switch mistake {
        case 0: configuration.timeouts.connect = .zero
        case 1: configuration.resolver.routes.append(HTTPDNSRoute(.any, .providers(["c"], fallback: .off)))
        case 2: configuration.resolver.attemptLimit = .zero
        case 3: configuration.trust.roots = .file("/nowhere/roots.pem")
        case 4: configuration.resolver.providers.append(ModelProvider(.a))
        default:
            // A circle, which the index of the rules cannot have.
            configuration.resolver.indexedMappings = nil
            configuration.resolver.mappings = [
                try HTTPDNSMapping.Key(stage.world.names[0].host): .via(stage.world.names[1].host),
                try HTTPDNSMapping.Key(stage.world.names[1].host): .via(stage.world.names[0].host),
            ]
        }
        for client in clients {
            func state() -> String {
                "\(client.killSwitch.entries.map(\.scope)) \(client.mappings.current.generation)"
            }
            let before = state()
            do {
                _ = try await client.reload(configuration)
                stage.violate("settings with a mistake are refused", "\(mistake)")
            } catch let error as HTTPDNSClientError where error.code == .configuration || error.code == .shutDown {
                let now = state()
                if now != before { stage.violate("settings that are refused change nothing", "\(before), \(now)") }
            }
        }
    }
}

extension HTTPField.Name {
    /// The field that a client adds to each request.
    static let settings = HTTPField.Name("X-Settings")!
    /// The field of interim responses and trailers with the target of their request.
    static let interim = HTTPField.Name("X-Interim")!
}

/// The world that runs; the models of C find it here.
// One world runs at a time, and one thread of the process.
nonisolated(unsafe) var currentStage = Stage(World(seed: 0, calls: 0), .whole, keepsTrace: false)
