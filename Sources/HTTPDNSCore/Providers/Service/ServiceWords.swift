/// How messages speak of a service and of what it should have answered.
struct ServiceWords: Sendable {
    /// What the service is, such as `DoH service`.
    let service: String
    /// What its answer is, such as `DNS message`.
    let answer: String
    /// The media type of its answers.
    let mediaType: String
    /// What to do when the service does not take the method, or the length, of the query.
    let methodAdvice: String
}
