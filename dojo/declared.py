"""What the tools of AgentDojo's suites are declared to be, as whoever brought them into a project would do it.

A tool that gives back what strangers can write is untrusted: mails, invitations, shared files, names of channels and
members, pages, reviews, subjects of payments. What only the system, a catalogue or the user writes is not. Whoever
gives back a changed file or event gives back what others wrote into it.
"""

from __future__ import annotations

from typing import NamedTuple

from folkmoot.domain.message import Access, Effect


class Declared(NamedTuple):
    effect: Effect
    access: Access
    untrusted: bool = False


OWN, FOREIGN = Declared("pure", "read"), Declared("pure", "read", untrusted=True)
WRITE, WRITE_FOREIGN = Declared("once", "write"), Declared("once", "write", untrusted=True)
SEND, SEND_FOREIGN = Declared("once", "egress"), Declared("once", "egress", untrusted=True)
FETCH = Declared("pure", "egress", untrusted=True)


def _all(declared: Declared, names: str) -> dict[str, Declared]:
    return dict.fromkeys(names.split(), declared)


SUITES = {
    "workspace": {
        **_all(OWN, "get_sent_emails get_draft_emails search_contacts_by_name search_contacts_by_email"),
        **_all(OWN, "get_current_day"),
        **_all(FOREIGN, "get_unread_emails get_received_emails search_emails"),
        **_all(FOREIGN, "search_calendar_events get_day_calendar_events"),
        **_all(FOREIGN, "list_files search_files search_files_by_filename get_file_by_id"),
        **_all(WRITE, "delete_email create_file"),
        **_all(WRITE_FOREIGN, "append_to_file delete_file"),
        **_all(
            SEND, "send_email create_calendar_event cancel_calendar_event"
        ),  # an event is mailed to its guests
        **_all(SEND_FOREIGN, "reschedule_calendar_event add_calendar_event_participants share_file"),
    },
    "banking": {
        **_all(OWN, "get_iban get_balance get_user_info get_scheduled_transactions"),
        **_all(FOREIGN, "get_most_recent_transactions read_file"),
        **_all(WRITE, "schedule_transaction update_scheduled_transaction update_password update_user_info"),
        **_all(SEND, "send_money"),
    },
    "slack": {
        **_all(FOREIGN, "get_channels get_users_in_channel read_channel_messages read_inbox"),
        **_all(FETCH, "get_webpage"),
        **_all(WRITE, "add_user_to_channel remove_user_from_slack"),
        **_all(SEND, "post_webpage send_direct_message send_channel_message invite_user_to_slack"),
    },
    "travel": {
        **_all(OWN, "get_user_information get_flight_information get_all_hotels_in_city get_hotels_prices"),
        **_all(OWN, "get_hotels_address get_all_restaurants_in_city get_cuisine_type_for_restaurants"),
        **_all(OWN, "get_restaurants_address get_dietary_restrictions_for_all_restaurants"),
        **_all(OWN, "get_contact_information_for_restaurants get_price_for_restaurants"),
        **_all(
            OWN, "check_restaurant_opening_hours get_all_car_rental_companies_in_city get_car_types_available"
        ),
        **_all(OWN, "get_car_fuel_options get_car_rental_address get_car_price_per_day"),
        **_all(FOREIGN, "get_rating_reviews_for_hotels get_rating_reviews_for_restaurants"),
        **_all(FOREIGN, "get_rating_reviews_for_car_rental search_calendar_events get_day_calendar_events"),
        **_all(SEND, "send_email create_calendar_event cancel_calendar_event"),
        **_all(SEND, "reserve_hotel reserve_car_rental reserve_restaurant"),
    },
}
