// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import ServerRig

/// The time of a body of 16 MiB in a content coding, decoded by the client and by libcurl, from the same server.
struct DecodingFigures: Codable, Sendable {
    /// `identity` is the same transfer without decoding.
    var coding: String
    /// Mebibytes of the decoded body in a second; medians of the rounds.
    var own: Double
    var libcurl: Double
    /// The client's time divided by libcurl's.
    var ratio: Double { libcurl / own }
}

enum DecodingScenario {
    /// An error of a transfer, or of a body that is not as long as its source.
    struct Failure: Error { let text: String }

    private static let text = ContentEncoder.text(16 << 20)

    static func run(rounds: Int) async throws -> [DecodingFigures] {
        var results: [DecodingFigures] = []
        for coding in ["identity", "gzip", "deflate", "br", "zstd", "gzip, br"] {
            let body = coding == "identity" ? text : try ContentEncoder.encoded(text, coding)
            let head = "HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\nContent-Encoding: \(coding)\r\n\r\n"
            let server = try RawServer(.repeatForever([.readHead, .sendText(head), .send(body)]))
            let transport = Transport()
            var (own, libcurl) = ([Double](), [Double]())
            // The first round opens the connections, and is not counted.
            for round in 0...rounds {
                let before = Measurement.now()
                try await fetch(from: server, by: transport)
                let between = Measurement.now()
                try fetchByLibcurl(from: server)
                let after = Measurement.now()
                guard round > 0 else { continue }
                let mebibytes = Double(text.count >> 20)
                own.append(mebibytes * 1e9 / Double(between - before))
                libcurl.append(mebibytes * 1e9 / Double(after - between))
            }
            await transport.shutdown()
            results.append(DecodingFigures(coding: coding, own: own.median, libcurl: libcurl.median))
        }
        return results
    }

    private static func fetch(from server: RawServer, by transport: Transport) async throws {
        guard let address = HTTPDNSAddress(server.address) else { throw Failure(text: "no address") }
        let response = try await transport.execute(
            TransferRequest(
                url: try ParsedURL("http://one.test:\(server.port)/"),
                endpoints: [HTTPDNSEndpoint(address: address, port: server.port)]
            )
        )
        var count = 0
        guard let body = response.decodedBody else { throw Failure(text: "nothing to decode") }
        for try await chunk in body { count += chunk.count }
        guard count == text.count else { throw Failure(text: "\(count) bytes") }
    }

    private static func fetchByLibcurl(from server: RawServer) throws {
        guard let curl = curl_easy_init() else { throw Failure(text: "no handle") }
        defer { curl_easy_cleanup(curl) }
        var count = 0
        let code = withUnsafeMutableBytes(of: &count) { count in
            _ = ccurl_set_string(curl, CURLOPT_URL, "http://\(server.address):\(server.port)/")
            // All codings of this libcurl.
            _ = ccurl_set_string(curl, CURLOPT_ACCEPT_ENCODING, "")
            _ = ccurl_set_pointer(curl, CURLOPT_WRITEDATA, count.baseAddress)
            _ = ccurl_set_data_function(curl, CURLOPT_WRITEFUNCTION) { _, size, number, count in
                count?.assumingMemoryBound(to: Int.self).pointee += size * number
                return size * number
            }
            return curl_easy_perform(curl)
        }
        guard code == CURLE_OK, count == text.count else { throw Failure(text: "libcurl: \(code), \(count) bytes") }
    }
}
