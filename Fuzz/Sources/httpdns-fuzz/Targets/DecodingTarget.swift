// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPTypes

@testable internal import HTTPDNSCurl

extension FuzzTarget {
    /// Bodies in content codings: the first byte selects the chain, the rest is the body.
    static let decoding = FuzzTarget(name: "decoding") { octets in
        guard let first = octets.first else { return }
        let chain = chains[Int(first) % chains.count]
        let body = Array(octets.dropFirst())
        let whole = decoded(body, chain, pieces: max(body.count, 1))
        let bytewise = decoded(body, chain, pieces: 1)
        precondition(whole == bytewise, "the pieces in which a body arrives change nothing")
        // A body and its beginning are not both whole, except at the ends of members and frames.
        if whole != nil, chain == "br", body.count > 1 {
            precondition(decoded(Array(body.dropLast()), chain, pieces: body.count) == nil)
        }
    }

    private static let chains = [
        "gzip", "deflate", "br", "zstd", "gzip, br", "zstd, deflate", "br, zstd, gzip", "identity", "zip",
    ]
    private static let limit = 1 << 20

    /// Returns the decoded body; nil when it is refused.
    private static func decoded(_ body: [UInt8], _ chain: String, pieces: Int) -> [UInt8]? {
        let decoder = ContentDecoder(DeclaredCodings([.contentEncoding: chain]), limit: limit)
        var bytes: [UInt8] = []
        do throws(TransferFailure) {
            for start in stride(from: 0, to: body.count, by: pieces) {
                try decoder.add(Array(body[start..<min(start + pieces, body.count)]))
                while !decoder.needsInput {
                    guard let chunk = try decoder.next() else { continue }
                    precondition(!chunk.isEmpty && chunk.count <= max(ContentDecoder.maximumChunk, pieces))
                    bytes += chunk
                    precondition(bytes.count <= limit)
                }
            }
            try decoder.finish()
            return bytes
        } catch {
            precondition(error.code == .undecodable || error.code == .responseTooLarge)
            precondition(isOneLine(error.message), "an error is one line of ASCII")
            return nil
        }
    }
}
