// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

extension HTTPDNSClient {
    /// Names and values for a query or a form, which may be nested. They keep their order.
    ///
    /// ```swift
    /// let parameters: HTTPDNSClient.Parameters = ["q": "a b", "tags": ["red", "blue"], "page": ["size": 20]]
    /// print(parameters.encoded())  // q=a%20b&tags%5B%5D=red&tags%5B%5D=blue&page%5Bsize%5D=20
    /// ```
    public struct Parameters: Hashable, Sendable, ExpressibleByDictionaryLiteral {
        /// A name with its value.
        private struct Item: Hashable, Sendable {
            let name: String
            let value: Value
        }

        private var items: [Item] = []

        /// Creates no parameters.
        public init() {}

        /// Creates parameters. A name may occur more than once.
        public init(dictionaryLiteral elements: (String, Value)...) {
            items = elements.map { Item(name: $0.0, value: $0.1) }
        }

        /// Adds a parameter at the end.
        public mutating func append(_ name: String, _ value: Value) { items.append(Item(name: name, value: value)) }

        /// Returns the parameters as the text of a query or a form.
        public func encoded(_ encoding: Encoding = .query) -> String {
            var writer = ParameterWriter(encoding)
            for item in items { writer.add(encoding.escaped(item.name), item.value) }
            return writer.text
        }

        /// The names and values, in order.
        fileprivate var pairs: [(name: String, value: Value)] { items.map { ($0.name, $0.value) } }
    }
}

extension HTTPDNSClient.Parameters {
    /// The value of a parameter: a text, a number, a Boolean, nil, a list, or further parameters.
    public struct Value: Hashable, Sendable, ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral,
        ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral, ExpressibleByNilLiteral, ExpressibleByArrayLiteral,
        ExpressibleByDictionaryLiteral
    {
        fileprivate indirect enum Content: Hashable, Sendable {
            case null
            case bool(Bool)
            case text(String)
            case list([Value])
            case parameters(HTTPDNSClient.Parameters)
        }

        fileprivate let content: Content

        /// Creates a text.
        public init(_ text: String) { content = .text(text) }
        /// Creates a number, in decimal digits.
        public init(_ number: some BinaryInteger) { content = .text(String(number)) }
        /// Creates a number, in the shortest form that has the same value, such as `0.1` and `1e+20`.
        public init(_ number: Double) { content = .text("\(number)") }
        /// Creates a Boolean, see ``HTTPDNSClient/Parameters/Encoding/booleans``.
        public init(_ bool: Bool) { content = .bool(bool) }
        /// Creates a list, see ``HTTPDNSClient/Parameters/Encoding/lists``.
        public init(_ list: [Value]) { content = .list(list) }
        /// Creates nested parameters, see ``HTTPDNSClient/Parameters/Encoding/nesting``.
        public init(_ parameters: HTTPDNSClient.Parameters) { content = .parameters(parameters) }
        /// Creates a text.
        public init(stringLiteral text: String) { self.init(text) }
        /// Creates a number.
        public init(integerLiteral number: Int64) { self.init(number) }
        /// Creates a number.
        public init(floatLiteral number: Double) { self.init(number) }
        /// Creates a Boolean.
        public init(booleanLiteral bool: Bool) { self.init(bool) }
        /// Creates a missing value, see ``HTTPDNSClient/Parameters/Encoding/missing``.
        public init(nilLiteral: ()) { content = .null }
        /// Creates a list.
        public init(arrayLiteral elements: Value...) { self.init(elements) }
        /// Creates nested parameters.
        public init(dictionaryLiteral elements: (String, Value)...) {
            var parameters = HTTPDNSClient.Parameters()
            for (name, value) in elements { parameters.append(name, value) }
            self.init(parameters)
        }
    }

    /// The form of parameters in a text. Servers differ: no standard covers lists and nested names.
    public struct Encoding: Hashable, Sendable {
        /// The form of a list.
        public struct Lists: Hashable, Sendable {
            fileprivate enum Content { case brackets, indices, repeated, commas }
            fileprivate let content: Content

            /// Brackets after the name, once for each element: `a[]=1&a[]=2`.
            public static let brackets = Lists(content: .brackets)
            /// Brackets with the index: `a[0]=1&a[1]=2`.
            public static let indices = Lists(content: .indices)
            /// The name alone: `a=1&a=2`.
            public static let repeated = Lists(content: .repeated)
            /// One value with commas: `a=1,2`. Commas of an element are percent-encoded. A list with lists or parameters
            /// among its elements has the form ``indices``.
            public static let commas = Lists(content: .commas)
        }

        /// The form of nested names.
        public struct Nesting: Hashable, Sendable {
            fileprivate enum Content { case brackets, dots }
            fileprivate let content: Content

            /// Brackets: `a[b]=1`.
            public static let brackets = Nesting(content: .brackets)
            /// Dots: `a.b=1`.
            public static let dots = Nesting(content: .dots)
        }

        /// The form of Booleans.
        public struct Booleans: Hashable, Sendable {
            fileprivate enum Content { case words, digits }
            fileprivate let content: Content

            /// `true` and `false`.
            public static let words = Booleans(content: .words)
            /// `1` and `0`.
            public static let digits = Booleans(content: .digits)
        }

        /// The form of missing values.
        public struct Missing: Hashable, Sendable {
            fileprivate enum Content { case omitted, empty, nameOnly }
            fileprivate let content: Content

            /// The parameter is left out.
            public static let omitted = Missing(content: .omitted)
            /// An empty value: `a=`.
            public static let empty = Missing(content: .empty)
            /// The name alone: `a`.
            public static let nameOnly = Missing(content: .nameOnly)
        }

        /// The form of lists.
        public var lists = Lists.brackets
        /// The form of nested names.
        public var nesting = Nesting.brackets
        /// The form of Booleans.
        public var booleans = Booleans.words
        /// The form of missing values.
        public var missing = Missing.omitted
        /// Whether the text is that of a form (`application/x-www-form-urlencoded`): a space is `+`, and `*` stays. Otherwise
        /// a space is `%20`, and `~` stays (RFC 3986 section 2.3). All other characters but letters, digits, `-`, `.` and `_`
        /// are percent-encoded in UTF-8, and so are the brackets of names.
        public var isForm = false

        /// Creates the default, ``query``.
        public init() {}

        /// The encoding of a query: brackets, words, and no missing values.
        public static let query = Encoding()
        /// The encoding of a form: that of a query, with `+` for a space.
        public static let form: Encoding = {
            var encoding = Encoding()
            encoding.isForm = true
            return encoding
        }()

        fileprivate func escaped(_ text: String) -> String {
            let encoded = PercentCoding.encoded(text.utf8, keeping: isForm ? "-._* " : "-._~")
            return isForm ? String(encoded.map { $0 == " " ? "+" : $0 }) : encoded
        }
    }
}

/// The text of parameters, while it is made.
private struct ParameterWriter {
    typealias Value = HTTPDNSClient.Parameters.Value

    let encoding: HTTPDNSClient.Parameters.Encoding
    private(set) var text = ""

    init(_ encoding: HTTPDNSClient.Parameters.Encoding) { self.encoding = encoding }

    /// - Parameter name: The encoded name.
    mutating func add(_ name: String, _ value: Value) {
        switch value.content {
        case .list(let values): add(name, values)
        case .parameters(let parameters):
            for (inner, value) in parameters.pairs {
                let inner = encoding.escaped(inner)
                add(encoding.nesting == .dots ? "\(name).\(inner)" : "\(name)%5B\(inner)%5D", value)
            }
        case .null, .bool, .text:
            if let scalar = scalar(value) {
                write("\(name)=\(scalar)")
            } else if encoding.missing == .nameOnly {
                write(name)
            }
        }
    }

    private mutating func add(_ name: String, _ values: [Value]) {
        let scalars = values.allSatisfy { value in
            switch value.content {
            case .null, .bool, .text: true
            case .list, .parameters: false
            }
        }
        if encoding.lists == .commas, scalars {
            let texts = values.compactMap { scalar($0) ?? (encoding.missing == .nameOnly ? "" : nil) }
            if !texts.isEmpty { write("\(name)=\(texts.joined(separator: ","))") }
            return
        }
        for (index, value) in values.enumerated() {
            switch encoding.lists.content {
            case .brackets: add("\(name)%5B%5D", value)
            case .indices, .commas: add("\(name)%5B\(index)%5D", value)
            case .repeated: add(name, value)
            }
        }
    }

    /// Returns the encoded text of a value that is no list and no parameters; nil for a missing one without a text.
    private func scalar(_ value: Value) -> String? {
        switch value.content {
        case .text(let text): encoding.escaped(text)
        case .bool(let bool): encoding.booleans == .digits ? (bool ? "1" : "0") : "\(bool)"
        case .null: encoding.missing == .empty ? "" : nil
        case .list, .parameters: nil
        }
    }

    private mutating func write(_ item: String) { text += text.isEmpty ? item : "&\(item)" }
}

extension HTTPDNSClient.Request {
    /// Adds parameters to the query of the URL, behind those that it has. A fragment stays at the end.
    public mutating func addQuery(
        _ parameters: HTTPDNSClient.Parameters,
        encoding: HTTPDNSClient.Parameters.Encoding = .query
    ) {
        let query = parameters.encoded(encoding)
        guard !query.isEmpty else { return }
        let start = url.prefix { $0 != "#" }
        let separator = !start.contains("?") ? "?" : start.hasSuffix("?") || start.hasSuffix("&") ? "" : "&"
        url = "\(start)\(separator)\(query)\(url.dropFirst(start.count))"
    }
}

extension HTTPDNSClient.Request.Body {
    /// Returns a form with nested values (`application/x-www-form-urlencoded`). It sets the content type, unless the request
    /// has one. ``form(_:)`` is the short form for plain texts.
    public static func form(
        parameters: HTTPDNSClient.Parameters,
        encoding: HTTPDNSClient.Parameters.Encoding = .form
    ) -> HTTPDNSClient.Request.Body {
        HTTPDNSClient.Request.Body(
            .bytes(Array(parameters.encoded(encoding).utf8)),
            contentType: "application/x-www-form-urlencoded"
        )
    }
}
