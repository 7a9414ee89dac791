// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSMonitor
import ServerRig

/// The traffic of a shop's app against the servers of a rig, with all that a report draws: names from HTTP-DNS and from mappings,
/// an address that does not answer, redirects, retries, errors, reused connections and bodies.
struct SampleTraffic {
    private typealias Request = HTTPDNSClient.Request

    private let rig: ServerRig
    private let client: HTTPDNSClient

    /// Makes the traffic, and writes its report into a file.
    static func report(to path: String) async throws {
        let rig = try await ServerRig.start()
        let silent = try BlackHole(address: "127.0.0.6", port: rig.tlsPort)
        var settings = HTTPDNSTrafficMonitor.Settings()
        settings.requestBodyLimit = .kibibytes(16)
        settings.responseBodyLimit = .kibibytes(16)
        let monitor = try HTTPDNSTrafficMonitor(settings)
        try await withHTTPDNSClient(configuration: configuration(rig, silent: silent.address)) { client in
            monitor.start(on: client)
            let traffic = SampleTraffic(rig: rig, client: client)
            for number in 0..<4 {
                await traffic.page(number)
                // The pages are apart, as those of a reader are.
                try await Task.sleep(for: .milliseconds(1300))
            }
        }
        try await monitor.writeReport(to: path)
        try await rig.stop()
    }

    private static func configuration(_ rig: ServerRig, silent: String) throws -> HTTPDNSClient.Configuration {
        var configuration = HTTPDNSClient.Configuration()
        configuration.trustRoots = .file(rig.certificateAuthorityFile)
        var service = HTTPDNSDoHProvider.Configuration(
            name: "city-dns",
            url: rig.dohURL,
            bootstrap: [HTTPDNSAddress(v4: 127, 0, 0, 1)]
        )
        service.trustRoots = .file(rig.certificateAuthorityFile)
        service.answerScope = .loopback
        configuration.resolver.providers = [try HTTPDNSDoHProvider(service)]
        configuration.resolver.routes = [
            HTTPDNSRoute(try .init("*.shop.test"), .providers(["city-dns"], fallback: .off)),
            HTTPDNSRoute(.any, .providers(["city-dns"], fallback: .off)),
        ]
        configuration.resolver.mappings[try .init("edge.wild.test")] = .addresses([
            .init(stringLiteral: silent), "127.0.0.3",
        ])
        configuration.resolver.mappings[try .init("pay.wild.test")] = .addresses(["127.0.0.3"])
        configuration.resolver.mappings[try .init("gone.wild.test")] = .addresses(["127.0.0.9"])
        return configuration
    }

    private func url(_ host: String, _ path: String) -> String { "https://\(host):\(rig.tlsPort)\(path)" }

    private func call(_ request: HTTPDNSClient.Request) async {
        guard let response = try? await client.execute(request) else { return }
        _ = try? await response.body.collect(upTo: .mebibytes(1))
    }

    private func get(_ host: String, _ path: String) async { await call(Request(url: url(host, path))) }

    /// Makes the calls of one page.
    private func page(_ number: Int) async {
        var search = Request(url: url("api.shop.test", "/echo/search?q=blue%20chairs&page=\(number)"))
        search.headerFields = [.accept: "application/json", .authorization: "Bearer secret"]
        await call(search)
        await withTaskGroup(of: Void.self) { calls in
            for image in 0..<6 { calls.addTask { await get("img.shop.test", "/bytes?count=\(20_000 * (image + 1))") } }
            calls.addTask { await get("cdn.shop.test", "/gzip/text.txt") }
            calls.addTask { await get("api.shop.test", "/stall/0.0\(4 + number)") }
            calls.addTask { await get("edge.wild.test", "/health") }
        }
        await get("one.test", "/redirect/302?to=\(url("img.shop.test", "/health"))")
        await get("img.shop.test", "/missing-\(number).jpg")
        await order(number)
        switch number {
        case 0: await get("gone.wild.test", "/")
        case 1: await get("liar.test", "/")
        case 2: await get("img.shop.test", "/truncated")
        default: await slow()
        }
    }

    /// Sends an order, and asks a server that is not ready until the retries end.
    private func order(_ number: Int) async {
        var order = Request(method: .post, url: url("pay.wild.test", "/echo/orders"))
        order.body = .text("{\"order\": \(1200 + number), \"items\": [\"chair\"], \"card_token\": \"4111\"}")
        order.headerFields[.contentType] = "application/json"
        await call(order)
        guard number == 1 else { return }
        await call(Request(url: url("pay.wild.test", "/status/503")) { $0.retries = .standard })
    }

    private func slow() async {
        await call(Request(url: url("api.shop.test", "/stall/2")) { $0.timeouts.total = .milliseconds(400) })
    }
}

/// Calls whose URLs, header fields and bodies are markup that sets a variable, loads something, or changes the title.
enum HostileTraffic {
    private static let payloads = [
        "</script><script>ran = 1; document.title = 'x'</script>", "\" onload=\"ran = 1", "' onmouseover='ran = 1' x='",
        "<img src=https://203.0.113.1/a onerror=ran=1>", "<svg/onload=ran=1>", "</style></pre></title><h1>x</h1>",
        "<a href=javascript:ran=1>x</a>", "<base href=//203.0.113.1/><link rel=stylesheet href=/a>",
        "<style>@import url(https://203.0.113.1/b)</style>", "--><iframe srcdoc='<script>ran=1</script>'>",
        "javascript:ran=1",
    ]

    /// Makes the calls, and writes their report into a file.
    static func report(to path: String) async throws {
        let count = payloads.count
        let server = try RawServer { [payloads] number in
            let payload = payloads[number % count]
            let fields = "X-Evil: \(payload)\r\nContent-Type: text/html; \(payload)\r\nConnection: close\r\n"
            return [.readHead, .respond(payload, status: "200 \(payload)", fields: fields)]
        }
        var settings = HTTPDNSTrafficMonitor.Settings()
        settings.requestBodyLimit = .kibibytes(16)
        settings.responseBodyLimit = .kibibytes(16)
        let monitor = try HTTPDNSTrafficMonitor(settings)
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.mappings[try .init("one.test")] = .addresses([
            .init(stringLiteral: "127.0.0.1:\(server.port)")
        ])
        try await withHTTPDNSClient(configuration: configuration) { client in
            monitor.start(on: client)
            for payload in payloads {
                // A URL with a blank fails before it is sent, and its record has its text.
                for text in [payload.replacing(" ", with: "%20"), "\(payload) "] {
                    var request = HTTPDNSClient.Request(url: "http://one.test/?\(text)", body: .text(payload))
                    request.headerFields[.referer] = payload
                    _ = try? await client.execute(request).body.collect(upTo: .mebibytes(1))
                }
            }
        }
        try await monitor.writeReport(to: path)
    }
}
