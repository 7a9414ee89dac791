// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

extension HTTPDNSClient.Download {
    /// The handling of a file that has the path of a download.
    public struct ExistingFile: Hashable, Sendable, CustomStringConvertible {
        private enum Content: String {
            case replace, fail, rename, resume
        }

        private let content: Content

        /// It is replaced when the download is complete. This is the default.
        public static let replace = HTTPDNSClient.Download.ExistingFile(content: .replace)
        /// It fails the download with ``HTTPDNSClientError/Code/fileFailed``: before the request is sent, or at the end if
        /// the file appeared meanwhile.
        public static let fail = HTTPDNSClient.Download.ExistingFile(content: .fail)
        /// The download gets the first free name with a number before its suffix, such as `report-1.pdf`.
        /// ``HTTPDNSClient/Download/path`` has it.
        public static let rename = HTTPDNSClient.Download.ExistingFile(content: .rename)
        /// It is replaced when the download is complete, and a download that fails keeps the bytes that it has received. The
        /// next download with the same URL and path requests the rest, also in another process.
        ///
        /// The bytes are in `.httpdns-….part` beside the file, and the validator of the response in `.httpdns-….state`. The
        /// rest is requested with `Range` and `If-Range` (RFC 9110 sections 13.1.5 and 14.2), so that a resource that has
        /// changed is received from its beginning. A response without a strong validator, a strong `ETag` or a
        /// `Last-Modified` at least a second older than its `Date`, is not kept. A request with other header fields, or with
        /// other values of the fields in the response's `Vary`, begins again.
        ///
        /// After a loss of power the part may have a gap: give a checksum where that matters.
        ///
        /// It needs a GET request without `Range` and `If-Range` fields, whose body is not decoded. Others fail with
        /// ``HTTPDNSClientError/Code/invalidRequest``. Two downloads to one path at a time fail with
        /// ``HTTPDNSClientError/Code/fileFailed``.
        public static let resume = HTTPDNSClient.Download.ExistingFile(content: .resume)

        /// The name: `replace`, `fail`, `rename` or `resume`.
        public var description: String { content.rawValue }

        var ending: ReplacedFile.Ending {
            switch content {
            case .replace, .resume: .replacing
            case .fail: .creating
            case .rename: .numbering
            }
        }
    }

    /// The checksum that the bytes of a download must have.
    public struct Checksum: Hashable, Sendable, CustomStringConvertible {
        private let digits: String

        /// Returns a SHA-256 checksum.
        /// - Parameter hexadecimal: 64 hexadecimal digits, in any case. Other text fails the download with
        ///   ``HTTPDNSClientError/Code/invalidRequest``, before the request is sent.
        public static func sha256(_ hexadecimal: String) -> HTTPDNSClient.Download.Checksum {
            HTTPDNSClient.Download.Checksum(digits: hexadecimal.lowercased())
        }

        /// The algorithm and the digits, such as `sha256 9f86d081…`.
        public var description: String { "sha256 \(digits.escaped(limit: 64))" }

        /// - Throws: ``HTTPDNSClientError`` with code `invalidRequest`.
        func validate() throws(HTTPDNSClientError) {
            guard digits.utf8.count == 64, digits.allSatisfy({ $0.isASCII && $0.isHexDigit }) else {
                throw HTTPDNSClientError(
                    code: .invalidRequest,
                    phase: .request,
                    message: "the checksum of a download, \"\(digits.escaped(limit: 80))\", is no SHA-256 checksum",
                    hint: "it has 64 hexadecimal digits, as sha256sum prints them"
                )
            }
        }

        /// Compares the checksum of a file, which is read for it.
        /// - Throws: ``HTTPDNSClientError`` with code `checksumMismatch` or `fileFailed`; `CancellationError`.
        func check(_ file: FileSaving, _ response: HTTPDNSClient.Response) async throws {
            var hash = SHA256Hash()
            var offset: Int64 = 0
            while true {
                let (at, before) = (offset, hash)
                let (bytes, after) = try await file.perform { file in
                    let bytes = try file.bytes(at: at)
                    var hash = before
                    hash.update(bytes)
                    return (bytes.count, hash)
                }
                guard bytes > 0 else { break }
                offset += Int64(bytes)
                hash = after
            }
            let found = hash.finish().hexadecimal
            guard found != digits else { return }
            var error = HTTPDNSClientError(
                code: .checksumMismatch,
                phase: .body,
                message:
                    "the \(offset) bytes of the download have the SHA-256 checksum \(found), and \(digits) was expected; "
                    + "nothing was saved",
                host: response.exchanges.last?.request.content.url.host.description,
                hint: "compare the checksum with that of the publisher; the file on the server may have changed"
            )
            error.requestMayHaveBeenSent = true
            throw error
        }
    }
}
