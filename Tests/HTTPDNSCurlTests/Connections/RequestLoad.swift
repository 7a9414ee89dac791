// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPDNSPrimitives
import HTTPTypes
import ServerRig
import Testing

/// Many numbered requests to an ``NginxOrigin``, a fixed number of them in flight, and what became of each.
struct RequestLoad {
    let origin: NginxOrigin
    let transport: Transport
    var scheme = "https"
    var versions = HTTPDNSTransfer.AllowedVersions.automatic
    var inFlight = 64
    /// The methods of the requests, in turns.
    var methods: [HTTPRequest.Method] = [.post]

    /// The ends of the requests, compared with the origin's log.
    struct Outcome: CustomStringConvertible {
        var total = 0
        var failures: [Int: TransferFailure] = [:]
        var processed: [Int: Int] = [:]
        var connections = 0

        /// Requests that the origin processed more than once.
        var processedTwice: [Int] { processed.filter { $0.value > 1 }.map(\.key) }
        /// Requests that were reported as not sent although the origin processed them.
        var wronglyUnsent: [Int] {
            failures.filter { !$0.value.requestMayHaveBeenSent && processed[$0.key] != nil }.map(\.key)
        }
        /// Failed requests that the origin never processed.
        var lost: Int { failures.count { processed[$0.key] == nil } }

        var description: String {
            let kinds = failures.values.reduce(into: [String: Int]()) {
                let sent = $1.requestMayHaveBeenSent ? "perhaps sent" : "not sent"
                $0["\($1.code) (\($1.curlCode), \(sent): \($1.message))", default: 0] += 1
            }
            return "\(total) requests, \(failures.count) failed (\(lost) of them not processed), "
                + "\(processedTwice.count) processed twice, \(wronglyUnsent.count) wrongly reported as not sent, "
                + "\(connections) connections\n"
                + kinds.sorted { $0.value > $1.value }.map { "    \($0.value) x \($0.key)\n" }.joined()
        }
    }

    /// Sends the requests and waits for all of them.
    /// - Parameters:
    ///   - first: The number of the first.
    ///   - reloads: The number of times that the origin is reloaded while they run, evenly spread.
    func run(_ total: Int, from first: Int = 0, reloads: Int = 0) async throws -> Outcome {
        var outcome = Outcome(total: total)
        var next = first
        try await withThrowingTaskGroup(of: (Int, TransferFailure?).self) { group in
            func add() throws {
                let (number, request) = (next, try request(next))
                next += 1
                group.addTask { [transport] in
                    do {
                        try await transport.fetch(request)
                        return (number, nil)
                    } catch let failure as TransferFailure {
                        return (number, failure)
                    }
                }
            }
            while next < first + min(inFlight, total) { try add() }
            var done = 0
            while let (number, failure) = try await group.next() {
                outcome.failures[number] = failure
                done += 1
                if reloads > 0, done % (total / (reloads + 1)) == 0, done / (total / (reloads + 1)) <= reloads {
                    try await origin.reload()
                }
                if next < first + total { try add() }
            }
        }
        let requests = try origin.requests()
        for request in requests { outcome.processed[request.number, default: 0] += 1 }
        outcome.connections = Set(requests.map(\.connection)).count
        return outcome
    }

    private func request(_ number: Int) throws -> TransferRequest {
        let method = methods[number % methods.count]
        var request = TransferRequest(
            method: method,
            url: try ParsedURL("\(scheme)://one.test:\(origin.port)/"),
            body: method == .post || method == .put ? .bytes(Array("body of \(number)".utf8)) : .none,
            endpoints: [HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 1), port: origin.port)],
            versions: versions
        )
        request.headerFields[HTTPField.Name("X-Number")!] = "\(number)"
        request.limits.connect = .seconds(60)
        request.limits.tls = .seconds(60)
        return request
    }
}
