// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import BenchmarkOrigin
internal import Glibc
internal import HTTPDNS
internal import HTTPDNSMonitor
internal import HTTPDNSResponseCache
internal import HTTPTypes

/// The program whose operations `Scripts/count-operations` counts: requests for 1 KiB with the rules of a client in use, and
/// the origin, which is a process of its own so that its work is not counted.
///
/// usage: `httpdns-count-operations origin`, then `httpdns-count-operations KIND PORT REQUESTS IN-FLIGHT PLANTED`
@main
struct CountedRequests {
    private static let bodyBytes = 1024

    /// The kinds of requests. Each passes other steps of the pipeline.
    private enum Kind: String {
        case get
        /// A GET whose response is stored, by a client that keeps cookies.
        case stored
        /// A GET that the response cache answers out of memory.
        case cached
        /// A POST of JSON.
        case post
        /// A GET through an application interceptor and a network interceptor.
        case intercepted
        /// A GET whose first try is answered with 503.
        case retried
        /// A GET whose call changes an option.
        case changed
        /// A GET that a traffic monitor records.
        case monitored
    }

    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        if arguments.elementsEqual(["origin"]) {
            serve()
        }
        let numbers = arguments.dropFirst().compactMap { Int($0) }
        guard let kind = arguments.first.flatMap(Kind.init), numbers.count == 4, arguments.count == 5 else {
            fatalError("usage: httpdns-count-operations origin | KIND PORT REQUESTS IN-FLIGHT PLANTED")
        }
        try await send(kind, port: numbers[0], requests: numbers[1], inFlight: numbers[2], planted: numbers[3])
    }

    private static func serve() -> Never {
        var port: Int32 = 0
        let listener = benchmark_origin_listen("127.0.0.1", &port)
        guard listener >= 0 else { fatalError("nothing can listen on 127.0.0.1") }
        print(port)
        fflush(nil)
        benchmark_origin_serve(listener, 1, Int32(bodyBytes))
        fatalError("the origin failed: \(String(cString: strerror(errno)))")
    }

    /// - Parameter planted: The number of objects that each request makes for nothing: a difference that must be found.
    private static func send(_ kind: Kind, port: Int, requests: Int, inFlight: Int, planted: Int) async throws {
        let client = try await HTTPDNSClient(configuration: configuration(for: kind))
        let monitor = HTTPDNSTrafficMonitor()
        if kind == .monitored { monitor.start(on: client) }
        let url = "http://counted.example:\(port)/1k"
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<inFlight {
                // The remainder goes to the first tasks, one request each.
                let share = requests / inFlight + (task < requests % inFlight ? 1 : 0)
                group.addTask {
                    for number in 0..<share {
                        let response = try await send(kind, to: url, over: client, number: task + inFlight * number)
                        let bytes = try await response.body.collect(upTo: .mebibytes(1)).count
                        guard response.status == .ok, bytes == bodyBytes else {
                            fatalError("a response of \(response.status) with \(bytes) bytes")
                        }
                        for _ in 0..<planted { plant() }
                    }
                }
            }
            try await group.waitForAll()
        }
        if kind == .cached, client.responseCache?.counters.misses != 1 {
            fatalError("the origin answered more than one request")
        }
        if kind == .monitored, monitor.counters.records != requests {
            fatalError("\(monitor.counters.records) of \(requests) requests were recorded")
        }
        try await client.shutdown()
    }

    private static func send(
        _ kind: Kind,
        to url: String,
        over client: HTTPDNSClient,
        number: Int
    ) async throws -> HTTPDNSClient.Response {
        let fields: HTTPFields = [.accept: "*/*", .userAgent: "counted"]
        switch kind {
        case .get, .intercepted, .retried, .monitored: return try await client.get(url, headerFields: fields)
        case .cached:
            var request = HTTPDNSClient.Request(url: url, headerFields: fields)
            // By their date the responses of the origin are too old.
            request.cache.policy = .preferStored
            return try await client.execute(request)
        // Each is the first of its URL.
        case .stored: return try await client.get("\(url)?\(number)", headerFields: fields)
        case .post: return try await client.post(url, headerFields: fields, json: Order(item: "a", count: 2))
        case .changed: return try await client.get(url, headerFields: fields) { $0.timeouts.total = .seconds(20) }
        }
    }

    private struct Order: Encodable {
        let item: String
        let count: Int
    }

    /// Passes requests on as they are.
    private struct Passing: HTTPDNSClient.Interceptor {
        func intercept(
            _ request: HTTPDNSClient.Request,
            context: HTTPDNSClient.InterceptionContext,
            next: Next
        ) async throws -> HTTPDNSClient.Response {
            try await next(request, context)
        }
    }

    /// Answers each first try with 503.
    private struct Refusing: HTTPDNSClient.Interceptor {
        func intercept(
            _ request: HTTPDNSClient.Request,
            context: HTTPDNSClient.InterceptionContext,
            next: Next
        ) async throws -> HTTPDNSClient.Response {
            guard context.hop == 0 else { return try await next(request, context) }
            return HTTPDNSClient.Response(head: HTTPResponse(status: .serviceUnavailable), body: .bytes([]))
        }
    }

    /// Mappings of other names, six routes, an address policy and a rollout: nothing may be cheap only without them.
    private static func configuration(for kind: Kind) throws -> HTTPDNSClient.Configuration {
        var configuration = HTTPDNSClient.Configuration()
        switch kind {
        case .get, .post, .changed, .monitored: break
        case .cached: configuration.responseCache = .memory()
        case .stored: (configuration.cookies, configuration.responseCache) = (.memory(), .memory())
        case .intercepted:
            configuration.applicationInterceptors = [Passing()]
            configuration.networkInterceptors = [Passing()]
        case .retried:
            configuration.networkInterceptors = [Refusing()]
            configuration.retries = .standard
            configuration.retries.delay = .zero
            (configuration.retryBudget.percent, configuration.retryBudget.perSecond) = (100, 100_000)
        }
        configuration.resolver.mappings = [try HTTPDNSMapping.Key("counted.example"): .addresses(["127.0.0.1"])]
        for number in 0..<1000 {
            let key = try HTTPDNSMapping.Key("rule\(number).example")
            configuration.resolver.mappings[key] = .addresses(["203.0.113.7"])
        }
        configuration.resolver.providers = [UnusedProvider()]
        for number in 0..<6 {
            var route = HTTPDNSRoute(
                .suffix(try HTTPDNSName("zone\(number).example")),
                .providers(["unused"], fallback: .system)
            )
            if number == 5 { route.rollout = HTTPDNSRoute.Rollout(percent: 50, by: .key) }
            configuration.resolver.routes.append(route)
        }
        configuration.resolver.policy.denied = [HTTPDNSAddressBlock("198.51.100.0/24")].compactMap(\.self)
        return configuration
    }

    private final class Planted {}

    /// Makes an object and frees it, by a pointer: an object that is not passed on would be made on the stack.
    @inline(never)
    private static func plant() {
        let pointer = Unmanaged.passRetained(Planted()).toOpaque()
        Unmanaged<Planted>.fromOpaque(pointer).release()
    }
}

/// The provider that the routes name. The counted name is on none of them.
private final class UnusedProvider: HTTPDNSProvider {
    let name = "unused"

    func resolve(_ query: HTTPDNSProviderQuery) async throws -> HTTPDNSProviderAnswer {
        fatalError("the provider was asked for \(query.host)")
    }
}
