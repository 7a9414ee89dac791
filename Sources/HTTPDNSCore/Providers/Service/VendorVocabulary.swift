/// The terms for a service and its expected answer in messages.
struct VendorVocabulary: Sendable {
    /// The kind of service, such as `DoH service`.
    let service: String
    /// The kind of its answer, such as `DNS message`.
    let answer: String
    /// The media type of its answers.
    let mediaType: String
    /// The advice for a service that rejects the method, or the length, of the query.
    let methodAdvice: String
}
