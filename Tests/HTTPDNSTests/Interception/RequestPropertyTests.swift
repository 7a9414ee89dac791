// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSCurl
import HTTPDNSTesting
import ServerRig
import Testing

struct RequestPropertyTests {
    private enum Job: HTTPDNSClient.RequestProperty {
        typealias Value = String
    }

    private enum FirstHop: HTTPDNSClient.RequestProperty {
        typealias Value = Int
        static let followsRedirects = false
    }

    @Test("A copy has the properties, and a change of the copy leaves the original")
    func copies() {
        var request = HTTPDNSClient.Request(url: "https://one.test/")
        #expect(request[Job.self] == nil)
        request[Job.self] = "job-7"
        request.changeOptions { $0.timeouts.total = .seconds(3) }
        var copy = request
        copy[Job.self] = nil
        copy[FirstHop.self] = 1
        #expect(request[Job.self] == "job-7" && request[FirstHop.self] == nil)
        #expect(copy[Job.self] == nil && copy[FirstHop.self] == 1 && copy.options.timeouts.total == .seconds(3))
    }

    @Test("Retries and redirects keep properties of the call, and none is sent")
    func hops() async throws {
        let journal = Journal<String>()
        let wire = ScriptedWire(.failure(TransferFailure(code: .connectFailed, phase: .connect, message: "refused")))
        let rig = try Rig(wire: wire) { configuration in
            configuration.retries = .standard
            configuration.retries.delay = .zero
            configuration.networkInterceptors = [
                Around { request, context, next in
                    let (job, first) = (request[Job.self] ?? "-", request[FirstHop.self].map { "\($0)" } ?? "-")
                    journal.write("\(context.hop) \(job) \(first)")
                    var request = request
                    request[Job.self] = "changed in the hop"
                    return try await next(request, context)
                },
                Around { request, context, next in
                    journal.write(request[Job.self] ?? "-")
                    let response = try await next(request, context)
                    guard request.url.hasSuffix("/start") else { return response }
                    return HTTPDNSClient.Response(
                        head: HTTPResponse(status: .found, headerFields: [.location: "https://two.test/end"]),
                        body: .bytes([])
                    )
                },
            ]
        }
        var request = HTTPDNSClient.Request(url: "https://one.test/start")
        request[Job.self] = "job-7"
        request[FirstHop.self] = 1
        _ = try await rig.client.execute(request)
        let inner = "changed in the hop"
        #expect(journal.all == ["0 job-7 1", inner, "1 job-7 1", inner, "2 job-7 -", inner])
        #expect(rig.wire.requests.count == 3)
        #expect(rig.wire.requests.allSatisfy { !"\($0.headerFields)\($0.url)".contains("job-7") })
    }
}
