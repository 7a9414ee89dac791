// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

extension HTTPDNSClient.Request.Body {
    /// Returns a form as a browser encodes it (`application/x-www-form-urlencoded`, the URL standard's serializer). The
    /// fields keep their order, and a name may occur more than once. It sets the content type, unless the request has
    /// one.
    public static func form(_ fields: KeyValuePairs<String, String>) -> HTTPDNSClient.Request.Body {
        var parameters = HTTPDNSClient.Parameters()
        for (name, value) in fields { parameters.append(name, .init(value)) }
        return form(parameters: parameters)
    }

    /// A part of a multipart form.
    public struct Part: Sendable {
        let piece: BodyPart
        let name: String
        let fileName: String?
        let contentType: String?

        /// Returns a field with a value.
        /// - Parameters:
        ///   - name: The name of the field.
        ///   - value: The value of the field.
        ///   - contentType: The media type of the value; nil for none, which means plain text.
        public static func field(_ name: String, _ value: String, contentType: String? = nil) -> Part {
            Part(piece: .bytes(Array(value.utf8)), name: name, fileName: nil, contentType: contentType)
        }

        /// Returns a field whose value is bytes in any charset.
        package static func field(_ name: String, bytes: [UInt8], contentType: String? = nil) -> Part {
            Part(piece: .bytes(bytes), name: name, fileName: nil, contentType: contentType)
        }

        /// Returns bytes that the server receives as a file.
        public static func bytes(
            _ name: String,
            fileName: String,
            contentType: String = "application/octet-stream",
            _ bytes: [UInt8]
        ) -> Part {
            Part(piece: .bytes(bytes), name: name, fileName: fileName, contentType: contentType)
        }

        /// Returns a file, read like ``HTTPDNSClient/Request/Body/file(_:)``.
        /// - Parameters:
        ///   - name: The name of the field.
        ///   - path: The path of the file.
        ///   - fileName: The file name in the part; nil means the last component of the path.
        ///   - contentType: The media type in the part.
        public static func file(
            _ name: String,
            path: String,
            fileName: String? = nil,
            contentType: String = "application/octet-stream"
        ) -> Part {
            let last = path.split(separator: "/").last.map(String.init) ?? path
            return Part(piece: .file(path), name: name, fileName: fileName ?? last, contentType: contentType)
        }

        /// The head of the part. Names are escaped as browsers do (the HTML standard's multipart/form-data encoding),
        /// so that no name ends its quotation or its line.
        var head: String {
            var head = "Content-Disposition: form-data; name=\"\(Part.escaped(name))\""
            if let fileName { head += "; filename=\"\(Part.escaped(fileName))\"" }
            head += "\r\n"
            if let contentType { head += "Content-Type: \(contentType.filter { !$0.isNewline && $0 != "\0" })\r\n" }
            return head + "\r\n"
        }

        private static func escaped(_ text: String) -> String {
            var escaped = ""
            for scalar in text.unicodeScalars {
                switch scalar {
                case "\"": escaped += "%22"
                case "\r": escaped += "%0D"
                case "\n": escaped += "%0A"
                default: escaped.unicodeScalars.append(scalar)
                }
            }
            return escaped
        }
    }

    /// Returns a form with files (`multipart/form-data`, RFC 7578). Its length is known, its files are read while they
    /// are sent, and it can be sent again. It sets the content type, unless the request has one. The request's own
    /// content type would need the boundary, which is random.
    public static func multipart(_ parts: [Part]) -> HTTPDNSClient.Request.Body {
        multipart(parts, boundary: "httpdns-" + (0..<2).map { _ in hexadecimal(.random(in: .min ... .max)) }.joined())
    }

    static func multipart(_ parts: [Part], boundary: String) -> HTTPDNSClient.Request.Body {
        var pieces: [BodyPart] = []
        var text = ""
        for part in parts {
            pieces += [.bytes(Array("\(text)--\(boundary)\r\n\(part.head)".utf8)), part.piece]
            text = "\r\n"
        }
        pieces.append(.bytes(Array("\(text)--\(boundary)--\r\n".utf8)))
        return HTTPDNSClient.Request.Body(.pieces(pieces), contentType: "multipart/form-data; boundary=\(boundary)")
    }

    private static func hexadecimal(_ number: UInt64) -> String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: 16 - text.count) + text
    }
}
