// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPTypes

extension HTTPDNSClient {
    /// An interceptor that removes the marks by which other interception systems recognize requests that they have
    /// handled already.
    ///
    /// Such marks come with requests that a program passes on. The client never trusts one: a marked request is mapped,
    /// resolved and intercepted as every other request. A header mark would reach the server, and this interceptor
    /// removes it before. A fragment is never sent; its mark is removed so that URLs in caches and logs are those of the
    /// program. The client's own mark is a value in memory (`HTTPDNSRewriter.Tag`), which no text can forge.
    public struct ForeignMarks: HTTPDNSClient.Interceptor {
        /// The marks that are removed.
        public let marks: [Mark]

        /// Creates an interceptor that removes marks, those of known systems by default.
        public init(_ marks: [HTTPDNSClient.ForeignMarks.Mark] = Mark.known) { self.marks = marks }

        /// Sends the request without marks.
        /// - Throws: The errors of `next`.
        public func intercept(
            _ request: HTTPDNSClient.Request,
            context: HTTPDNSClient.InterceptionContext,
            next: Next
        ) async throws -> HTTPDNSClient.Response {
            var request = request
            for mark in marks { mark.remove(from: &request) }
            return try await next(request, context)
        }

        /// Returns the marks of a request, in the order of ``marks``.
        public func marks(of request: HTTPDNSClient.Request) -> [HTTPDNSClient.ForeignMarks.Mark] {
            marks.filter { mark in
                var copy = request
                return mark.remove(from: &copy)
            }
        }
    }
}

extension HTTPDNSClient.ForeignMarks {
    /// A mark of another interception system.
    public struct Mark: Hashable, Sendable, CustomStringConvertible {
        private enum Content: Hashable {
            case fragment(String)
            case field(HTTPField.Name)
            case element(HTTPField.Name, String)
        }

        private let content: Content

        /// Returns a text at the end of a URL's fragment. A fragment before it is kept, and an empty one is removed.
        public static func fragment(_ text: String) -> HTTPDNSClient.ForeignMarks.Mark {
            Mark(content: .fragment(text))
        }

        /// Returns a header field with any value.
        public static func headerField(_ name: HTTPField.Name) -> HTTPDNSClient.ForeignMarks.Mark {
            Mark(content: .field(name))
        }

        /// Returns one element of a header field whose value is a list. The other elements are kept.
        /// - Parameters:
        ///   - name: The name of the field.
        ///   - element: The element, without a comma. The case of its letters does not matter.
        public static func headerField(_ name: HTTPField.Name, element: String) -> HTTPDNSClient.ForeignMarks.Mark {
            Mark(content: .element(name, element.lowercased()))
        }

        /// The marks of WebViewProxy (a fragment), RNCachingURLProtocol (`X-RNCache`) and Mock Service Worker
        /// (`X-MSW-Intention`, `X-MSW-Bypass`, and `msw/passthrough` in `Accept`).
        public static let known: [HTTPDNSClient.ForeignMarks.Mark] =
            [.fragment("__webviewproxyreq__"), .headerField(.accept, element: "msw/passthrough")]
            + ["X-RNCache", "X-MSW-Intention", "X-MSW-Bypass"].compactMap { HTTPField.Name($0) }.map {
                .headerField($0)
            }

        /// The text of the mark, such as `fragment __webviewproxyreq__` or `header field X-RNCache`.
        public var description: String {
            switch content {
            case .fragment(let text): "fragment \(text)"
            case .field(let name): "header field \(name)"
            case .element(let name, let element): "header field \(name): \(element)"
            }
        }

        /// - Returns: Whether the request had the mark.
        @discardableResult
        fileprivate func remove(from request: inout HTTPDNSClient.Request) -> Bool {
            switch content {
            case .fragment(let mark): return Mark.remove(mark, fromFragmentOf: &request.url)
            case .field(let name):
                guard request.headerFields.contains(name) else { return false }
                request.headerFields[name] = nil
                return true
            case .element(let name, let element):
                return Mark.remove(element, from: name, of: &request.headerFields)
            }
        }

        private static func remove(_ mark: String, fromFragmentOf url: inout String) -> Bool {
            guard !mark.isEmpty, let start = url.firstIndex(of: "#") else { return false }
            var fragment = url[url.index(after: start)...]
            guard fragment.hasSuffix(mark) else { return false }
            // A request that was handled twice has it twice.
            while fragment.hasSuffix(mark) { fragment = fragment.dropLast(mark.count) }
            url = url[..<start] + (fragment.isEmpty ? "" : "#\(fragment)")
            return true
        }

        private static func remove(_ element: String, from name: HTTPField.Name, of fields: inout HTTPFields) -> Bool {
            var isFound = false
            var kept: [HTTPField] = []
            for field in fields[fields: name] {
                let elements = field.value.listElements
                let others = elements.filter { $0.lowercased() != element }
                isFound = isFound || others.count < elements.count
                if others.count == elements.count {
                    kept.append(field)
                } else if !others.isEmpty {
                    kept.append(HTTPField(name: field.name, value: others.joined(separator: ", ")))
                }
            }
            if isFound { fields[fields: name] = kept }
            return isFound
        }
    }
}

extension String {
    /// The elements of a field value that is a list, without the white space around them (RFC 9110 section 5.6.1).
    var listElements: [Substring] {
        split(separator: ",").compactMap { element in
            let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
            guard let first = element.firstIndex(where: { !isBlank($0) }),
                let last = element.lastIndex(where: { !isBlank($0) })
            else { return nil }
            return element[first...last]
        }
    }
}
