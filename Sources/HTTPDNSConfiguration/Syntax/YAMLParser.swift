// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if YAML
internal import CYaml

/// The parser events of libyaml for a text, one after the other.
///
/// Yams builds a whole tree, with its aliases expanded and its keys compared, before its caller can inspect any of it. So this
/// uses libyaml directly, the C library inside Yams.
final class YAMLParser {
    /// An event: a scalar, the begin or the end of an element, or an alias.
    struct Event {
        enum Kind {
            /// Text; `isPlain` is true when it was written without quotes.
            case scalar(String, isPlain: Bool)
            case sequenceStart
            case mappingStart
            /// The end of the innermost sequence or mapping.
            case end
            /// An alias, with the name of its anchor.
            case alias(String)
            case documentStart
            case streamEnd
        }

        var kind: Kind
        var position: Position
        /// The name after `&`.
        var anchor: String?
        /// The explicit tag.
        var tag: String?
    }

    /// Text that is not YAML.
    struct Failure: Error {
        /// The step in which libyaml stopped, such as "while scanning an anchor".
        var context: String
        /// The position where that step began.
        var contextPosition: Position?
        /// The cause; empty for a character that YAML does not allow.
        var problem: String
        var position: Position
    }

    // libyaml keeps its own address inside.
    private let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)

    /// - Parameter bytes: UTF-8 text, which must outlive the parser.
    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        yaml_parser_initialize(parser)
        yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        yaml_parser_set_input_string(parser, bytes.baseAddress, bytes.count)
    }

    deinit {
        yaml_parser_delete(parser)
        parser.deallocate()
    }

    /// Returns the next event. There is none after the end of the stream.
    func next() throws(Failure) -> Event {
        while true {
            var event = yaml_event_t()
            guard yaml_parser_parse(parser, &event) == 1 else { throw failure }
            defer { yaml_event_delete(&event) }
            if let read = Self.read(event) { return read }
        }
    }

    /// Converts an event; nil for the begin of the stream and the end of a document.
    private static func read(_ event: yaml_event_t) -> Event? {
        let position = Position(event.start_mark)
        switch event.type {
        case YAML_SCALAR_EVENT:
            let scalar = event.data.scalar
            let text = String(decoding: UnsafeBufferPointer(start: scalar.value, count: scalar.length), as: UTF8.self)
            let isPlain = scalar.style == YAML_PLAIN_SCALAR_STYLE || scalar.style == YAML_ANY_SCALAR_STYLE
            return Event(
                kind: .scalar(text, isPlain: isPlain),
                position: position,
                anchor: string(scalar.anchor),
                tag: string(scalar.tag)
            )
        case YAML_SEQUENCE_START_EVENT:
            let start = event.data.sequence_start
            return Event(kind: .sequenceStart, position: position, anchor: string(start.anchor), tag: string(start.tag))
        case YAML_MAPPING_START_EVENT:
            let start = event.data.mapping_start
            return Event(kind: .mappingStart, position: position, anchor: string(start.anchor), tag: string(start.tag))
        case YAML_SEQUENCE_END_EVENT, YAML_MAPPING_END_EVENT: return Event(kind: .end, position: position)
        case YAML_ALIAS_EVENT:
            return Event(kind: .alias(string(event.data.alias.anchor) ?? ""), position: position)
        case YAML_DOCUMENT_START_EVENT: return Event(kind: .documentStart, position: position)
        case YAML_STREAM_END_EVENT, YAML_NO_EVENT: return Event(kind: .streamEnd, position: position)
        default: return nil
        }
    }

    private var failure: Failure {
        let isReader = parser.pointee.error == YAML_READER_ERROR
        return Failure(
            context: parser.pointee.context.map { String(cString: $0) } ?? "",
            contextPosition: parser.pointee.context == nil ? nil : Position(parser.pointee.context_mark),
            problem: isReader ? "" : parser.pointee.problem.map { String(cString: $0) } ?? "out of memory",
            position: Position(parser.pointee.problem_mark)
        )
    }

    private static func string(_ pointer: UnsafePointer<UInt8>?) -> String? {
        pointer.map { String(decodingCString: $0, as: UTF8.self) }
    }
}

extension Position {
    fileprivate init(_ mark: yaml_mark_t) { self.init(line: Int(mark.line) + 1, column: Int(mark.column) + 1) }
}
#endif
