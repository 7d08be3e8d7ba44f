<?php
// Makes runs alike: each post has its own date, long ago, and nothing is scheduled.
add_filter( 'pre_schedule_event', '__return_true' );
add_filter( 'wp_insert_post_data', function ( $data, $given ) {
    static $second = 0;
    $time = gmdate( 'Y-m-d H:i:s', 1600000000 + 60 * $second++ );
    if ( empty( $given['ID'] ) && $data['post_date'] > '2024-01-01' ) {
        $data['post_date'] = $data['post_date_gmt'] = $time;
    }
    $data['post_modified'] = $data['post_modified_gmt'] = $time;
    return $data;
}, 10, 2 );
