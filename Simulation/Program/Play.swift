// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSSimulation
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
    var loops: Int?

    var description: String {
        var text =
            switch order {
            case .arrival: "in order of arrival"
            case .random(let seed): "schedule \(seed)"
            }
        if depth == .pipeline { text += ", without a transport" }
        if isObserved { text += ", observed" }
        if let loops { text += ", \(loops) loops" }
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
    var traceHash: UInt64 = 0
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
    if !isOver { stage.violate("every call ends", "\(run.unfinished) after \(schedule.steps) steps") }
    let sockets = sim_open_sockets()
    let threads = sim_end()
    if isOver, sockets != 0 { stage.violate("a shutdown closes every connection", "\(sockets) are open") }
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
    outcome.traceHash = stage.traceHash
    return outcome
}

/// The system's name service: it knows all names, and answers two addresses of each.
private func answerName(_ text: String, family: Int32, into answer: inout sim_name_answer) {
    let stage = currentStage
    let number = stage.next("system \(text)")
    var draw = Draw(stage.seed, "system \(text) \(number)")
    answer.delay = draw.time(.microseconds(200), draw.happens(5) ? .seconds(2) : .milliseconds(20)).nanoseconds
    stage.cover("system lookup")
    let host = text.hasSuffix(".") ? String(text.dropLast()) : text
    guard let index = stage.world.names.firstIndex(where: { $0.host == host }), !draw.happens(3) else {
        answer.error = -2
        return
    }
    var given: [HTTPDNSAddress] = []
    for address in stage.world.names[index].addresses {
        let isWanted = family == 0 || family == (address.family == .v4 ? 2 : 10)
        guard isWanted, given.count < 2 else { continue }
        given.append(address)
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
    stage.answered(index, given, lives: .seconds(40))
}

/// The calls and changes of a world, on one client.
// @unchecked: the schedule lets one task of the process run at a time.
private final class WorldRun: @unchecked Sendable {
    private let stage: Stage
    private let variant: Variant
    private(set) var isOver = false
    private(set) var outcomes: [Int: String] = [:]
    private var terminalEvents: [UInt64: Int] = [:]

    init(_ stage: Stage, _ variant: Variant) {
        self.stage = stage
        self.variant = variant
    }

    var unfinished: String {
        let left = stage.world.calls.map(\.number).filter { outcomes[$0] == nil }
        return "\(left.count) calls, \(left.prefix(5))"
    }

    private func configuration() throws -> HTTPDNSClient.Configuration {
        let settings = stage.world.settings
        var configuration = HTTPDNSClient.Configuration()
        configuration.environment = { _ in nil }
        configuration.random = { 0.5 }
        configuration.resolver.providers = [ModelProvider("a"), ModelProvider("b")]
        configuration.resolver.routes = try stage.world.names.filter(\.hasRoute).map {
            HTTPDNSRoute(
                try HTTPDNSRoute.Pattern($0.host),
                .providers(["a", "b"], fallback: settings.systemFallback ? .system : .none)
            )
        }
        configuration.resolver.hasIPv6Route = { settings.hasIPv6 }
        configuration.resolver.cache.staleLimit = settings.staleLimit
        configuration.connections.addressStickiness = settings.stickiness
        configuration.connections.loops = .count(variant.loops ?? settings.loops)
        configuration.connections.maximumPerHost = settings.maximumPerHost
        if settings.hedges { configuration.connections.hedgeAfter = .milliseconds(20) }
        if settings.ejects { configuration.connections.ejection = HTTPDNSClient.Configuration.OutlierEjection() }
        if settings.retries { configuration.retries = .standard }
        configuration.retries.networkWait = settings.networkWait
        configuration.mergesIdenticalReads = settings.merges
        if settings.keepsCookies { configuration.cookies = .memory() }
        if settings.cachesResponses { configuration.responseCache = .memory() }
        if variant.isObserved {
            configuration.applicationInterceptors = [PassingInterceptor()]
            configuration.networkInterceptors = [PassingInterceptor()]
        }
        return configuration
    }

    private func client(_ configuration: HTTPDNSClient.Configuration) async throws -> HTTPDNSClient {
        guard variant.depth == .pipeline else { return try await HTTPDNSClient(configuration: configuration) }
        let configuration = try await configuration.withOpenResponseCache()
        let resolver = try HTTPDNSResolver(
            configuration.resolverSettings,
            isEnabled: true,
            systemResolver: configuration.systemResolver
        )
        let client = HTTPDNSClient(configuration: configuration, resolver: resolver, sender: ModelWire())
        await resolver.start()
        return client
    }

    func play() async {
        do {
            let configuration = try configuration()
            let client = try await client(configuration)
            let events = variant.isObserved ? Task { await self.observe(client.requestEvents) } : nil
            let changes = Task { await self.change(client, configuration) }
            await withTaskGroup(of: Void.self) { group in
                for call in stage.world.calls { group.addTask { await self.run(call, client) } }
            }
            changes.cancel()
            await changes.value
            if client.requestsWaiting != 0 {
                stage.violate("no request waits when all calls have ended", "\(client.requestsWaiting)")
            }
            try await client.shutdown(drainingFor: .seconds(1))
            // An event may still be on its way to its reader.
            for _ in 0..<100 where events != nil && terminalEvents.count < outcomes.count {
                try? await Task.sleep(for: .milliseconds(10))
            }
            events?.cancel()
            await events?.value
            if variant.isObserved { checkEvents() }
        } catch {
            stage.violate("a client of a world can be made and shut down", "\(error)")
        }
        isOver = true
    }

    // MARK: - Calls

    private func run(_ call: World.Call, _ client: HTTPDNSClient) async {
        try? await Task.sleep(for: call.start)
        let name = stage.world.names[call.name]
        var request = HTTPDNSClient.Request(
            method: call.isPost ? .post : .get,
            url: "\(stage.scheme)://\(name.host)/a\(call.number)",
            body: call.isPost ? .bytes(Array("order \(call.number)".utf8)) : .none
        )
        if call.hasSecret { request.headerFields[.authorization] = "Bearer secret-\(call.name)" }
        if let timeout = call.timeout { request.options.timeout = HTTPDNSClient.TimeLimit(timeout) }
        stage.callStarts[call.number] = schedule.elapsed
        stage.note("call \(call.number) \(name.host)")
        let start = schedule.elapsed
        let task = Task { [request] in try await self.send(request, client) }
        var canceler: Task<Void, Never>?
        if let pause = call.cancelAfter {
            canceler = Task {
                guard (try? await Task.sleep(for: pause)) != nil else { return }
                task.cancel()
            }
        }
        let text: String
        do {
            text = try await task.value
        } catch let error as HTTPDNSClientError {
            text = "\(error.code)"
            stage.cover("error \(error.code)")
        } catch {
            text = "canceled"
            stage.cover("canceled")
        }
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
        outcomes[call.number] = text
        stage.note("result \(call.number) \(text) after \(elapsed)")
    }

    private func send(_ request: HTTPDNSClient.Request, _ client: HTTPDNSClient) async throws -> String {
        let response = try await client.execute(request)
        let body = try await response.body.collect(upTo: .bytes(10_000))
        let status = response.status.code
        stage.cover("status \(status)")
        let path = request.url.split(separator: "/").last ?? ""
        let number = Int(path.dropFirst()) ?? -1
        if status == 200, !stage.strayCalls.contains(number),
            !String(decoding: body, as: UTF8.self).hasPrefix("body of /\(path)")
        {
            stage.violate(
                "a response belongs to its request",
                "\(request.url): \(String(decoding: body, as: UTF8.self))"
            )
        }
        return "\(status)"
    }

    // MARK: - Events

    private func observe(_ events: HTTPDNSClient.RequestEvents) async {
        for await event in events where event.kind.isTerminal {
            terminalEvents[event.callID, default: 0] += 1
        }
    }

    private func checkEvents() {
        let several = terminalEvents.filter { $0.value != 1 }
        if !several.isEmpty { stage.violate("a call has one terminal event", "\(several)") }
        if terminalEvents.count != outcomes.count {
            stage.violate("each call has a terminal event", "\(terminalEvents.count) of \(outcomes.count)")
        }
    }

    // MARK: - Changes

    private func change(_ client: HTTPDNSClient, _ first: HTTPDNSClient.Configuration) async {
        var configuration = first
        for event in stage.world.events {
            let pause = event.at.nanoseconds - schedule.elapsed
            if pause > 0 { guard (try? await Task.sleep(for: .nanoseconds(pause))) != nil else { return } }
            do {
                try await apply(event.change, to: client, &configuration)
            } catch is CancellationError {
                return
            } catch {
                stage.violate("a valid change of settings is taken", "\(event.change): \(error)")
            }
        }
    }

    /// Notes that the target of a mapping is from now on what an answer is that ends now.
    private func endMapping(of name: Int) {
        guard let old = stage.mapped.removeValue(forKey: name) else { return }
        stage.answered(name, [old.address], lives: .zero)
    }

    private func apply(
        _ change: World.Change,
        to client: HTTPDNSClient,
        _ configuration: inout HTTPDNSClient.Configuration
    ) async throws {
        stage.note("change \(change)")
        switch change {
        case .map(let name, let index):
            stage.cover("change mapping")
            let address = stage.world.names[name].addresses[index]
            endMapping(of: name)
            try client.mappings.apply { $0[stage.world.names[name].host] = .addresses([.init(address)]) }
            stage.mapped[name] = (address, schedule.elapsed)
        case .unmap(let name):
            stage.cover("change mapping removed")
            endMapping(of: name)
            try client.mappings.apply { $0[stage.world.names[name].host] = nil }
        case .switchOff:
            stage.cover("change switch off")
            client.killSwitch.turnOff()
            stage.switchedOff = schedule.elapsed
        case .switchOn:
            stage.cover("change switch on")
            stage.switchedOff = nil
            client.killSwitch.turnOn()
            stage.switchedOn = schedule.elapsed
        case .deny(let name, let index):
            stage.cover("change policy")
            let address = stage.world.names[name].addresses[index]
            if let block = HTTPDNSAddressBlock(address, prefixLength: address.family == .v4 ? 32 : 128) {
                configuration.resolver.policy.denied.append(block)
                _ = try await client.reload(configuration)
                stage.denied[address] = schedule.elapsed
            }
        case .staleLimit(let limit):
            stage.cover("change stale limit")
            configuration.resolver.cache.staleLimit = limit
            stage.staleLimit = max(stage.staleLimit, limit)
            _ = try await client.reload(configuration)
        case .retireConnections:
            stage.cover("change connections retired")
            client.retireConnections()
        }
    }
}

/// The world that runs; the models of C find it here.
// One world runs at a time, and one thread of the process.
nonisolated(unsafe) var currentStage = Stage(World(seed: 0, calls: 0), .whole, keepsTrace: false)
