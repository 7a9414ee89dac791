// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSMonitor
internal import HTTPDNSResponseCache
internal import Workload

/// The same requests through this project's client, called from ordinary tasks, its whole pipeline on.
@main
struct ClientContender {
    static func main() async throws {
        let orders = try Orders(arguments: CommandLine.arguments.dropFirst())
        var configuration = try configuration(orders)
        configuration.responseCache = try await responseCache(orders)
        let backends = orders.isObserved ? ObservationBackends() : nil
        if let backends { configuration.tracing.tracer = backends.tracer }
        let client = try await HTTPDNSClient(configuration: configuration)
        let monitor = HTTPDNSTrafficMonitor()
        if orders.isMonitored { monitor.start(on: client) }
        let export = backends?.start(on: client)
        try await touchOtherNames(orders, client)
        let silent = await inSilence(orders, client)
        let slow = SlowRequests()
        try await slow.start(orders, client)
        var insight = Insight()
        insight.slowResponses = { slow.responseCount }
        if orders.loops > 0 {
            insight.connections = { client.status().connections.open }
            insight.loopSeconds = LoopThreads.processorSeconds
        }
        try await measure(orders, insight, client)
        if let counters = client.responseCache?.counters, counters.requests != counters.hits + 1 {
            throw UnexpectedAnswer("\(counters.requests) requests had \(counters.hits) hits")
        }
        if orders.isMonitored, monitor.counters.records < orders.requests {
            throw UnexpectedAnswer("\(orders.requests) requests had \(monitor.counters.records) records")
        }
        try backends?.check(orders)
        export?.cancel()
        slow.stop()
        for request in silent { request.cancel() }
        try await client.shutdown()
    }

    private static func measure(_ orders: Orders, _ insight: Insight, _ client: HTTPDNSClient) async throws {
        let body = body(orders)
        try await Workload.measure(orders, insight: insight) {
            let response =
                if let body = orders.streamsUpload ? stream(orders) : body {
                    try await client.post(orders.url, headerFields: headerFields, body: body)
                } else {
                    try await client.get(orders.url, headerFields: headerFields)
                }
            return Answer(
                status: response.status.code,
                bodyBytes: try await read(response.body, orders),
                isHTTP2: response.version == .http2
            )
        }
    }

    private static func body(_ orders: Orders) -> HTTPDNSClient.Request.Body? {
        if let path = orders.uploadPath { return .file(path) }
        return orders.postBytes > 0 && !orders.streamsUpload ? .bytes(orders.postBody) : nil
    }

    /// Returns a body that is read once.
    private static func stream(_ orders: Orders) -> HTTPDNSClient.Request.Body {
        .stream(length: Int64(orders.postBytes), orders.postStream)
    }

    private static func read(_ body: HTTPDNSClient.Response.Body, _ orders: Orders) async throws -> Int {
        if let path = orders.savePath { return Int(try await body.save(to: path)) }
        if orders.discards { return try await body.reduce(0) { $0 + $1.count } }
        return try await body.collect(upTo: .bytes(orders.bodyBytes)).count
    }

    /// Requests that get no answer. All are connected when it returns.
    private static func inSilence(_ orders: Orders, _ client: HTTPDNSClient) async -> [Task<Void, any Error>] {
        guard orders.silent > 0 else { return [] }
        let requests = (0..<orders.silent).map { _ in
            Task { _ = try await client.get(orders.silentURL, headerFields: headerFields) }
        }
        // There is no event of a client's that says so; it has as many connections as requests then.
        while client.status().connections.open < orders.silent { try? await Task.sleep(for: .milliseconds(5)) }
        return requests
    }

    static let headerFields: HTTPFields = [.accept: "*/*", .userAgent: "bench"]

    private static func configuration(_ orders: Orders) throws -> HTTPDNSClient.Configuration {
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.mappings = [try HTTPDNSMapping.Key(orders.host): .addresses(orders.addresses)]
        if orders.loops > 0 { configuration.connections.loops = .count(orders.loops) }
        if orders.otherMappings > 0 { try OtherRules.add(orders.otherMappings, to: &configuration.resolver) }
        for _ in 0..<orders.interceptors {
            configuration.networkInterceptors.append(PassingInterceptor(host: orders.host))
        }
        if orders.silent > 0 {
            // They are to be silent to the end.
            configuration.timeouts.firstByte = nil
            configuration.timeouts.total = nil
            configuration.timeouts.idle = nil
        }
        configuration.versions = orders.isHTTP2 ? .automatic : .http1Only
        if let file = orders.certificateFile { configuration.trustRoots = .file(file) }
        return configuration
    }

    private static func responseCache(_ orders: Orders) async throws -> HTTPDNSClient.ResponseCache? {
        switch orders.cache {
        case nil: nil
        case "memory": .memory()
        case let folder?: try await .disk(folder)
        }
    }

    /// An interceptor that changes nothing.
    private struct PassingInterceptor: HTTPDNSClient.Interceptor {
        let predicate: HTTPDNSClient.RequestPredicate?

        init(host: String) { predicate = .host(host) && .method(.get, .post) }

        func intercept(_ request: HTTPDNSClient.Request, context: HTTPDNSClient.InterceptionContext, next: Next)
            async throws -> HTTPDNSClient.Response
        {
            try await next(request, context)
        }
    }

    /// Requests every other name once on every address, as a mapping that moves through its addresses would have it.
    private static func touchOtherNames(_ orders: Orders, _ client: HTTPDNSClient) async throws {
        guard orders.otherNames > 0 else { return }
        var addresses = orders.addresses
        for _ in orders.addresses {
            let order = addresses
            try client.mappings.apply { rules in
                for name in 0..<orders.otherNames { rules[orders.otherHost(name)] = .addresses(order) }
            }
            try await inFlight(orders.otherNames) { name in
                let response = try await client.get(orders.otherURL(name), headerFields: headerFields)
                _ = try await response.body.collect(upTo: .mebibytes(1))
                let remote = response.exchanges.last.map { "\($0.remote.address)" }
                if remote != order[0] {
                    throw UnexpectedAnswer(
                        "\(orders.otherHost(name)) went to \(remote ?? "nowhere"), not to \(order[0])"
                    )
                }
            }
            addresses.append(addresses.removeFirst())
        }
    }
}
